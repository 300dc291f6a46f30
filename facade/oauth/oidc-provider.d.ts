/** The entry of the library that prints no warning about the version of Node; the package's types describe its main entry alone. */
declare module 'oidc-provider/lib/provider.js' {
  export { Provider } from 'oidc-provider';
}
