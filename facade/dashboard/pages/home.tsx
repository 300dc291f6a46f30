import { boot } from '../boot.ts';

export function Page() {
  return (
    <div class="page-body">
      <header class="page-head">
        <h1>Home</h1>
      </header>
      <p class="quiet">{boot.workspace}</p>
    </div>
  );
}
