import { readFileSync } from 'node:fs'

/** Capabilities required by the sandbox (capabilities(7)), by number. */
const CAPABILITIES = {
  CAP_CHOWN: 0,
  CAP_DAC_OVERRIDE: 1,
  CAP_FOWNER: 3,
  CAP_KILL: 5,
  CAP_SETGID: 6,
  CAP_SETUID: 7,
  CAP_SETPCAP: 8,
  CAP_SYS_ADMIN: 21,
}

/** Returns the capabilities required by the sandbox that this process lacks. Linux only. */
export function findMissingCapabilities(): readonly string[] {
  const [, hex = '0'] = /^CapEff:\s*(\w+)/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  const effective = BigInt(`0x${hex}`)
  return Object.entries(CAPABILITIES).flatMap(([name, bit]) =>
    (effective >> BigInt(bit)) & 1n ? [] : [name],
  )
}

/**
 * Whether this process, or a program that it starts without a sandbox, can run as root or pass on capabilities of the
 * sandbox.
 */
export function isPrivileged(): boolean {
  if (process.geteuid?.() === 0) return true
  if (process.platform !== 'linux') return false
  return findMissingCapabilities().length < Object.keys(CAPABILITIES).length
}
