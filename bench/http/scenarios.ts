/** One kind of traffic, sent to every rival alike. */
export interface Scenario {
  readonly name: string
  /** As the table's heading says it. */
  readonly title: string
  /** The first segment names the service for mx; the backend looks at the last. */
  readonly path: string
  readonly method: 'GET' | 'POST'
  /** Bytes of JSON in the request. */
  readonly bodyBytes: number
  readonly tls: boolean
  /** Requests that may be written ahead on one backend connection. */
  readonly pipeline: number
  readonly accessLog: boolean
  /** Which rivals are of interest; undefined: all. */
  readonly rivals?: readonly string[]
  /** CPU per request against nginx that is wanted of mx. */
  readonly goal?: number
}

const GET_SMALL = {
  path: '/bench/hello',
  method: 'GET',
  bodyBytes: 0,
  tls: false,
  pipeline: 1,
  accessLog: false,
} as const

/** Every scenario, in the order they run. */
export const SCENARIOS: readonly Scenario[] = [
  {
    ...GET_SMALL,
    name: 'proxy',
    title: 'GET, 62 bytes of JSON, kept-alive backend connections',
    goal: 1,
  },
  {
    ...GET_SMALL,
    name: 'proxy-pipelined',
    title: 'GET, 62 bytes of JSON, requests pipelined to the backend (mx only)',
    pipeline: 16,
    rivals: ['nginx', 'mx', 'uws-floor'],
    goal: 0.9,
  },
  {
    ...GET_SMALL,
    name: 'post',
    title: 'POST, 256 bytes of JSON in, 62 out',
    method: 'POST',
    bodyBytes: 256,
  },
  { ...GET_SMALL, name: 'reply-64k', title: 'GET, 64 KiB reply', path: '/bench/64k' },
  { ...GET_SMALL, name: 'reply-1m', title: 'GET, 1 MiB reply, streamed', path: '/bench/1m' },
  { ...GET_SMALL, name: 'tls', title: 'GET, 62 bytes of JSON, TLS in front', tls: true },
  {
    ...GET_SMALL,
    name: 'access-log',
    title: 'GET, 62 bytes of JSON, every request logged to a file',
    accessLog: true,
  },
]
