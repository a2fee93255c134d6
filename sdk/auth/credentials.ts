import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Registry } from '../../core/contracts/registry.ts'
import { isNamespaceName } from '../../core/registry/namespace-name.ts'
import { DEFAULT_DOMAIN } from '../../core/registry/service.ts'
import { NAMESPACE_RULE } from '../namespace.ts'

/** What a service or a program logs in with. */
export interface Credentials {
  /** Of an account. */
  readonly id: string
  readonly secret: string
  /** That the account is of. @default 'mx' */
  readonly namespace?: string
}

/** Credentials, and where they are from. */
export interface FoundCredentials extends Required<Credentials> {
  /**
   * Nobody gave them: those of whoever runs a server here, who may run another. What they are no good for is done without.
   * Empty where nobody has left any yet.
   */
  readonly isGuess: boolean
}

const LOOPBACK = /^(?:mxs?:\/\/)?(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]):\d+$/
const SERVER = /^mxs?:\/\//
const FILE = 'service_credentials'
const NONE: Credentials = { id: '', secret: '' }

/**
 * The credentials of a program: its option, else `MX_AUTH_ID` and `MX_AUTH_SECRET`, of the namespace `MX_NAMESPACE`, else, for a platform on this machine, those
 * that a server of the same user left in `~/.mx/service_credentials`.
 *
 * @param platform where it is reached, `host:port` or with a scheme; undefined: there is none.
 * @throws {TypeError} for what are none, or only half of them.
 */
export function findCredentials(
  given: Credentials | undefined,
  platform: string | undefined,
): FoundCredentials | undefined {
  if (given !== undefined) return check(given, 'auth.id and auth.secret', 'auth.namespace')
  const { MX_AUTH_ID: id = '', MX_AUTH_SECRET: secret = '', MX_NAMESPACE = '' } = process.env
  if (platform === undefined) return undefined
  if (id !== '' || secret !== '') {
    const credentials = { id, secret, namespace: MX_NAMESPACE.trim() || DEFAULT_DOMAIN }
    return check(credentials, 'MX_AUTH_ID and MX_AUTH_SECRET', 'MX_NAMESPACE')
  }
  if (!LOOPBACK.test(platform.trim())) return undefined
  return { ...readLeft(), namespace: DEFAULT_DOMAIN, isGuess: true }
}

/** What a server of the same user left on this machine; empty: nothing, so far. */
export function readLeft(): Credentials {
  return readFile(join(homedir(), '.mx', FILE)) ?? NONE
}

/** Where a platform is whose registry this is; undefined: nowhere else. */
export function toPlatform(registry: Registry | string | undefined): string | undefined {
  return typeof registry === 'string' && registry.trim() !== 'memory' ? registry : undefined
}

/** Whether a platform is named by the address of a server, which can be called without a registry. */
export function isServerText(platform: string): boolean {
  return SERVER.test(platform.trim())
}

function check(credentials: Credentials, what: string, where: string): FoundCredentials {
  const { id, secret, namespace = DEFAULT_DOMAIN } = credentials
  if (!isText(id) || !isText(secret)) throw new TypeError(`${what} must both be given`)
  if (!isText(namespace) || !isNamespaceName(namespace))
    throw new TypeError(
      `${where} ${NAMESPACE_RULE}, got ${JSON.stringify(String(namespace).slice(0, 253))}`,
    )
  return { id, secret, namespace, isGuess: false }
}

function readFile(path: string): Credentials | undefined {
  try {
    const { id, secret } = JSON.parse(readFileSync(path, 'utf8'))
    return isText(id) && isText(secret) ? { id, secret } : undefined
  } catch {
    // Most often there is none; one that cannot be read is another user's.
    return undefined
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
