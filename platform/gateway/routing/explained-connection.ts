import { isIP } from 'node:net'
import { GATEWAY_ID, GatewayError } from '../../../core/errors.ts'
import { assignRoles } from '../../config/listen/main-listener.ts'
import type { Configuration } from '../../config/types.ts'
import { toSocketPath } from '../../settings/parse/address.ts'
import type { ExplainedRequest } from './explained-request.ts'

/** Connection that a request arrives on. */
export interface ExplainedConnection {
  /** Name of the listener; empty: the only one. */
  readonly listener: string
  readonly secure: boolean
  /** IP address of the peer; empty for a Unix socket. */
  readonly remoteAddress: string
}

const LOOPBACK = '127.0.0.1'

/** @throws {GatewayError} 400 for an unknown listener, or an address that clients of the listener cannot have. */
export function toConnection(
  { settings, config }: Configuration,
  { listener: name = '', secure, client = '' }: ExplainedRequest,
): ExplainedConnection {
  const { listen } = config
  const main = assignRoles(listen)?.main
  const match = name === '' ? main : listen.find((listener) => listener.name === name)
  if (name !== '' && match === undefined) {
    const names = listen.map((listener) => listener.name).join(', ') || 'none'
    throw reject(`unknown listener ${name}; configured: ${names}`)
  }
  if (client !== '' && isIP(client) === 0)
    throw reject(`client must be an IP address, got ${JSON.stringify(client)}`)
  const { address, hasTls } =
    match === undefined || match === main
      ? { address: settings.address, hasTls: settings.enableTls }
      : { address: match.address, hasTls: match.tls !== undefined }
  const isUnix = toSocketPath(address) !== undefined
  if (isUnix && client !== '')
    throw reject(`clients of the Unix socket ${address.host} have no IP address, got ${client}`)
  return {
    listener: match?.name ?? '',
    secure: secure ?? hasTls,
    remoteAddress: client || (isUnix ? '' : LOOPBACK),
  }
}

function reject(detail: string): GatewayError {
  return new GatewayError(GATEWAY_ID, 400, detail)
}
