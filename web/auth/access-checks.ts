/** Whether somebody may call something. */
export interface AccessCheck {
  /** Id; empty: somebody without a token. */
  readonly account: string
  readonly endpoint: string
}

/** Asked at a time. */
const AT_A_TIME = 8
/** More are a load for the server, and nobody reads them. */
export const MAX_CHECKS = 500

/**
 * Each account with each endpoint.
 *
 * @returns at most {@link MAX_CHECKS} of them, and how many there would be.
 */
export function toAccessChecks(
  accounts: readonly string[],
  endpoints: readonly string[],
): { readonly questions: readonly AccessCheck[]; readonly total: number } {
  const questions: AccessCheck[] = []
  for (const account of accounts)
    for (const endpoint of endpoints) {
      if (questions.length === MAX_CHECKS) break
      questions.push({ account, endpoint })
    }
  return { questions, total: accounts.length * endpoints.length }
}

/** Asks some at a time, and has the answers in the order of the questions. @throws what the first that failed did. */
export async function checkAll<Q, A>(
  questions: readonly Q[],
  ask: (question: Q) => Promise<A>,
): Promise<A[]> {
  const answers: A[] = []
  let next = 0
  const work = async (): Promise<void> => {
    while (next < questions.length) {
      const at = next++
      answers[at] = await ask(questions[at]!)
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, work))
  return answers
}
