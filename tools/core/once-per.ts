/** The function, whose result for each argument is made once and kept for as long as the argument lives. */
export function oncePer<Key extends object, Made>(make: (key: Key) => Made): (key: Key) => Made {
  const known = new WeakMap<Key, Made>();
  return (key) => {
    let made = known.get(key);
    if (made === undefined) {
      made = make(key);
      known.set(key, made);
    }
    return made;
  };
}
