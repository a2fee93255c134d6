/** A broker under test. With a broker server, publisher and subscriber use separate connections. */
export interface Contestant {
  readonly name: string
  readonly publish: (body: Uint8Array) => unknown
  /** Resolves once the subscription is established. */
  readonly subscribe: (onMessage: (body: Uint8Array) => void) => Promise<void>
  readonly close: () => Promise<void>
}

export const TOPIC = 'bench'
/** Headers as sent by services. */
export const HEADERS = { 'content-type': 'application/json' }
