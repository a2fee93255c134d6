/** A synchronous or asynchronous result. A synchronous result allocates no promise. */
export type Maybe<T> = T | Promise<T>
