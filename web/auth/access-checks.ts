/** Caller and endpoint to check. */
export interface AccessCheck {
  /** Account id; empty for anonymous. */
  readonly account: string
  readonly endpoint: string
}

const CONCURRENCY = 8
/** Maximum number of checks, to limit the load on the server. */
export const MAX_CHECKS = 500

/**
 * Combines each account with each endpoint. Returns at most {@link MAX_CHECKS} checks, and the total number without
 * this limit.
 */
export function toAccessChecks(
  accounts: readonly string[],
  endpoints: readonly string[],
): { readonly checks: readonly AccessCheck[]; readonly total: number } {
  const checks: AccessCheck[] = []
  for (const account of accounts)
    for (const endpoint of endpoints) {
      if (checks.length === MAX_CHECKS) break
      checks.push({ account, endpoint })
    }
  return { checks, total: accounts.length * endpoints.length }
}

/** Runs checks with limited concurrency. Results are in input order. @throws the first error. */
export async function checkAll<Check, Result>(
  checks: readonly Check[],
  run: (check: Check) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  let next = 0
  const work = async (): Promise<void> => {
    while (next < checks.length) {
      const at = next++
      results[at] = await run(checks[at]!)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
  return results
}
