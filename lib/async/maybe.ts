/** A result that may come later; `undefined` at once costs no promise. */
export type Maybe<T> = T | Promise<T>
