import { parseHostPort } from '../../core/upstream/node/parse-node.ts'

/** Address of a server's RPC proxy. */
export interface ServerAddress {
  /** Host name or IP address without brackets. */
  readonly host: string
  readonly port: number
  /** Whether to use TLS. */
  readonly secure: boolean
  /** Text as `mx://host:port` or `mxs://host:port`. */
  readonly text: string
  /** Checked IP addresses to connect to. @default resolves the host name for each connection */
  readonly resolved?: readonly string[]
}

const FORM = /^(?:(mxs?):\/\/)?(.*)$/s
const MAX_LENGTH = 300

/**
 * Parses `host:port`, `mx://host:port` or `mxs://host:port` (TLS). Returns undefined if invalid.
 */
export function parseServerAddress(text: string): ServerAddress | undefined {
  if (text.length > MAX_LENGTH) return undefined
  const [, scheme = 'mx', rest = ''] = FORM.exec(text.trim())!
  const address = parseHostPort(rest)
  return address && { ...address, secure: scheme === 'mxs', text: `${scheme}://${rest}` }
}

/** Rule for addresses, used in error messages. */
export const SERVER_ADDRESS_FORMS =
  'host:port, mx://host:port or mxs://host:port (TLS), with a port from 1 to 65535'

/** Returns whether a value is the text of a {@link ServerAddress}. */
export function isServerAddress(value: unknown): value is string {
  return typeof value === 'string' && parseServerAddress(value)?.text === value
}
