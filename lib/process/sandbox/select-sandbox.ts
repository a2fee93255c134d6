import type { Isolation, Sandbox } from './sandbox.ts'

/** Namespace of the operators. */
const OPERATORS = 'mx'

/**
 * Returns the sandbox for programs of a namespace, or undefined if they run as the user of the server.
 *
 * @throws {Error} if programs of a namespace other than `mx` would run with root privileges.
 */
export function selectSandbox(isolation: Isolation, namespace: string): Sandbox | undefined {
  const { sandbox } = isolation
  if (sandbox !== undefined || !isolation.isPrivileged || namespace === OPERATORS) return sandbox
  throw new Error(
    `Programs of namespace ${namespace} cannot run: the server is privileged and cannot isolate them (${isolation.reason}). Set runtime_uids to a range and give the server CAP_SYS_ADMIN, or run the server as an unprivileged user.`,
  )
}
