import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Registry } from '../../core/contracts/registry.ts'
import { isNamespaceName } from '../../core/registry/namespace-name.ts'
import { DEFAULT_DOMAIN } from '../../core/registry/service.ts'
import { NAMESPACE_RULE } from '../namespace.ts'

/** Credentials of a service or program. */
export interface Credentials {
  /** Account id. */
  readonly id: string
  readonly secret: string
  /** Namespace of the account. @default 'mx' */
  readonly namespace?: string
}

/** Credentials with their origin. */
export interface ResolvedCredentials extends Required<Credentials> {
  /**
   * True if the credentials are implicit: stored by a server on this machine, possibly for another platform. A rejected
   * login is not an error then. The credentials are empty if none are stored yet.
   */
  readonly isImplicit: boolean
}

const LOOPBACK = /^(?:mxs?:\/\/)?(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]):\d+$/
const SERVER = /^mxs?:\/\//
const FILE = 'service_credentials'
const NONE: Credentials = { id: '', secret: '' }

/**
 * Finds the credentials of a program: first its option, then `MX_AUTH_ID` and `MX_AUTH_SECRET` with `MX_NAMESPACE`,
 * then, for a platform on this machine, `~/.mx/service_credentials`, which is written by a server of the same user.
 *
 * @param platform address, `host:port` or with a scheme; undefined if none.
 * @throws {TypeError} for invalid or incomplete credentials.
 */
export function findCredentials(
  configured: Credentials | undefined,
  platform: string | undefined,
): ResolvedCredentials | undefined {
  if (configured !== undefined)
    return check(configured, 'auth.id and auth.secret', 'auth.namespace')
  const { MX_AUTH_ID: id = '', MX_AUTH_SECRET: secret = '', MX_NAMESPACE = '' } = process.env
  if (platform === undefined) return undefined
  if (id !== '' || secret !== '') {
    const credentials = { id, secret, namespace: MX_NAMESPACE.trim() || DEFAULT_DOMAIN }
    return check(credentials, 'MX_AUTH_ID and MX_AUTH_SECRET', 'MX_NAMESPACE')
  }
  if (!LOOPBACK.test(platform.trim())) return undefined
  return { ...readStoredCredentials(), namespace: DEFAULT_DOMAIN, isImplicit: true }
}

/** Credentials stored by a server of the same user; empty if none are stored yet. */
export function readStoredCredentials(): Credentials {
  return readFile(join(homedir(), '.mx', FILE)) ?? NONE
}

/** Platform address for a registry; undefined if absent. */
export function toPlatform(registry: Registry | string | undefined): string | undefined {
  return typeof registry === 'string' && registry.trim() !== 'memory' ? registry : undefined
}

/** True if the platform is specified by a server address, which can be called without a registry. */
export function isServerText(platform: string): boolean {
  return SERVER.test(platform.trim())
}

function check(credentials: Credentials, source: string, location: string): ResolvedCredentials {
  const { id, secret, namespace = DEFAULT_DOMAIN } = credentials
  if (!isText(id) || !isText(secret)) throw new TypeError(`${source} must both be set`)
  if (!isText(namespace) || !isNamespaceName(namespace))
    throw new TypeError(
      `${location} ${NAMESPACE_RULE}, got ${JSON.stringify(String(namespace).slice(0, 253))}`,
    )
  return { id, secret, namespace, isImplicit: false }
}

function readFile(path: string): Credentials | undefined {
  try {
    const { id, secret } = JSON.parse(readFileSync(path, 'utf8'))
    return isText(id) && isText(secret) ? { id, secret } : undefined
  } catch {
    // The file usually does not exist. A file that cannot be read belongs to another user.
    return undefined
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
