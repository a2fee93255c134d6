/** A broker as the benchmark uses it: whoever publishes and whoever subscribes are two programs, where the broker is a server. */
export interface Contestant {
  readonly name: string
  readonly publish: (body: Uint8Array) => unknown
  /** Resolves once messages come. */
  readonly subscribe: (onMessage: (body: Uint8Array) => void) => Promise<void>
  readonly close: () => Promise<void>
}

export const TOPIC = 'bench'
/** What services send. */
export const HEADERS = { 'content-type': 'application/json' }
