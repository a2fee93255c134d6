import type { CreateListener } from '../../../core/listener/listener.ts'
import { createNodeListener } from '../../../core/listener/node/listener.ts'
import { type ClientCa, loadClientCa } from '../../../core/listener/tls/client-ca.ts'
import { createUwsListener, loadUws } from '../../../core/listener/uws/listener.ts'
import type { Log } from '../../process/log.ts'
import type { Settings } from '../../settings/settings.ts'

/**
 * Returns the configured listener, or `node` if there is no uWebSockets binary for this platform.
 */
export function chooseListener(
  { listener, http2 }: Pick<Settings, 'listener' | 'http2'>,
  log: Log,
): CreateListener {
  const createNode: CreateListener = (options) => createNodeListener({ http2, ...options })
  if (listener === 'node') return createNode
  if (loadUws() !== undefined) return createUwsListener
  log.warn(
    `no uWebSockets binary for ${process.platform} ${process.arch} and Node ${process.versions.node}: falling back to --listener=node`,
  )
  return createNode
}

/**
 * Loads the client CA file and reloads it when it changes. Returns undefined if no client
 * certificates are requested.
 *
 * @param last see {@link loadClientCa}.
 * @throws {Error} with a one-line message.
 */
export function openClientCa(
  { tlsClientCa, tlsClientAuth }: Pick<Settings, 'tlsClientCa' | 'tlsClientAuth'>,
  log: Log,
  last?: string,
): ClientCa | undefined {
  if (tlsClientCa === '') return undefined
  const isOptional = tlsClientAuth === 'optional'
  return loadClientCa(tlsClientCa, { isOptional, last, warn: (message) => log.warn(message) })
}
