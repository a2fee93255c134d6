import { parseAddress } from '../../core/upstream/parse-node.ts'

/** Where the RPC proxy of a server is. */
export interface ServerAddress {
  /** Host name or IP address, without brackets. */
  readonly host: string
  readonly port: number
  /** TLS. */
  readonly secure: boolean
  /** `mx://host:port` or `mxs://host:port`. */
  readonly text: string
  /** IP addresses to connect to, as the outgoing address policy checked them. @default what the host name resolves to at each connection */
  readonly resolved?: readonly string[]
}

const FORM = /^(?:(mxs?):\/\/)?(.*)$/s
const MAX_LENGTH = 300

/** `host:port`, `mx://host:port` or `mxs://host:port` (TLS); undefined: it is none of them. */
export function parseServerAddress(text: string): ServerAddress | undefined {
  if (text.length > MAX_LENGTH) return undefined
  const [, scheme = 'mx', rest = ''] = FORM.exec(text.trim())!
  const address = parseAddress(rest)
  return address && { ...address, secure: scheme === 'mxs', text: `${scheme}://${rest}` }
}

/** What an address must be, for errors. */
export const SERVER_ADDRESS_FORMS =
  'host:port, mx://host:port or mxs://host:port (TLS), with a port from 1 to 65535'

/** Whether a value is the text of a {@link ServerAddress}. */
export function isServerAddress(value: unknown): value is string {
  return typeof value === 'string' && parseServerAddress(value)?.text === value
}
