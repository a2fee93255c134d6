import type { Endpoint } from '../contracts/registry.ts'

/**
 * Whether the registry declares that an endpoint may serve the same request twice: `idempotent`, or `readOnly`. Returns
 * undefined if it declares neither.
 */
export function isDeclaredRepeatable(declared: Endpoint | undefined): boolean | undefined {
  if (declared === undefined) return undefined
  const { idempotent, readOnly } = declared.metadata
  if (idempotent === 'false') return false
  return idempotent === 'true' || readOnly === 'true' ? true : undefined
}
