/** Which stored responses to remove. Undefined members match any response. */
export interface PurgeSelection {
  readonly namespace?: string | undefined
  /** Service name, full or without its namespace. */
  readonly service?: string | undefined
  /** `https://example.org`, in lower case. */
  readonly origin?: string | undefined
  /** Path with any query; a `*` at the end matches any suffix. */
  readonly path?: string | undefined
  readonly group?: string | undefined
}

/** A cache of responses. */
export interface ResponseCache {
  /** Returns the number of removed responses. */
  readonly purge: (selection: PurgeSelection) => number
  readonly close: () => void
}

/** The response caches of a process, which survive reloads of the configuration. */
export interface ResponseCaches extends Pick<ResponseCache, 'purge'> {
  /**
   * Returns the cache with this id, creating it on first use. It is closed when all users have called `release`.
   *
   * @param id caches with equal ids are interchangeable.
   */
  readonly open: <T extends ResponseCache>(id: string, create: () => T) => OpenCache<T>
}

export interface OpenCache<T> {
  readonly cache: T
  readonly release: () => void
}
