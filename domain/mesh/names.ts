import { isReservedName } from '../../core/registry/built-in-services.ts'
import { isServiceName } from '../../core/registry/service-name.ts'

const ID = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$/
/** No service's name begins with it. */
const SERVER = '@'

/**
 * Whether a service may be told of: not those of the platform. Every server has its own, and a call for one must never end at
 * another server, so they are neither told of nor believed in.
 */
export function isShared(name: string): boolean {
  return !isReservedName(name)
}

/** Whether a text can be the id of a server: 1 to 100 letters, digits, and dots, dashes and underscores between them. */
export function isServerId(text: string): boolean {
  return ID.test(text)
}

/** The destination that a server itself is, beside services. */
export function toServerKey(id: string): string {
  return SERVER + id
}

/** The id of the server a destination is; undefined: it is a service. */
export function findServerId(key: string): string | undefined {
  return key.startsWith(SERVER) ? key.slice(SERVER.length) : undefined
}

/** Whether a text is the full name of a service, or {@link toServerKey} of an id. */
export function isDestination(key: string): boolean {
  const id = findServerId(key)
  return id === undefined ? isServiceName(key) : isServerId(id)
}
