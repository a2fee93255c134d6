import { isReservedName } from '../../core/registry/built-in-services.ts'
import { isServiceName } from '../../core/registry/service-name.ts'

const ID = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$/
/** Prefix of server keys, which no service name can have. */
const SERVER = '@'

/**
 * Returns whether a service may be advertised. Built-in services exist on every server, and a call
 * must never reach the built-in services of another server, so they are neither advertised nor
 * accepted.
 */
export function isShared(name: string): boolean {
  return !isReservedName(name)
}

/**
 * Returns whether a text can be the id of a server: 1 to 100 letters, digits, and inner dots,
 * dashes and underscores.
 */
export function isServerId(text: string): boolean {
  return ID.test(text)
}

/** Returns the destination key of a server. */
export function toServerKey(id: string): string {
  return SERVER + id
}

/** Returns the server id of a destination key, or undefined for a service. */
export function findServerId(key: string): string | undefined {
  return key.startsWith(SERVER) ? key.slice(SERVER.length) : undefined
}

/**
 * Returns whether a text is a destination: the full name of a service, or the {@link toServerKey}
 * of an id.
 */
export function isDestination(key: string): boolean {
  const id = findServerId(key)
  return id === undefined ? isServiceName(key) : isServerId(id)
}
