/** A synchronous or asynchronous result; a synchronous one costs no promise. */
export type Maybe<T> = T | Promise<T>
