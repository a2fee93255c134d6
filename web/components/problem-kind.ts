import type { CallError } from '../rpc/call-error.ts'

/** What a failure means to whoever looks at it. */
export type ProblemKind =
  | 'gone'
  | 'expired'
  | 'forbidden'
  | 'timeout'
  | 'cancelled'
  | 'notFound'
  | 'invalid'
  | 'other'

/** The state a failed call leaves a page in. */
export function toProblemKind(error: CallError): ProblemKind {
  if (error.isExpiry) return 'expired'
  if (error.isLoss) return 'gone'
  switch (error.code) {
    case 400:
    case 413:
    case 415:
    case 422:
      return 'invalid'
    case 401:
    case 403:
      return 'forbidden'
    case 404:
      return 'notFound'
    case 499:
      return 'cancelled'
    case 408:
    case 504:
      return 'timeout'
    default:
      return 'other'
  }
}

/** What it is called, and what may be done about it. */
export const PROBLEMS: Readonly<
  Record<ProblemKind, { readonly title: string; readonly advice: string }>
> = {
  gone: {
    title: 'The server is gone',
    advice: 'The page connects again by itself, and shows what is new then.',
  },
  expired: {
    title: 'The login has ended',
    advice: 'Log in again: what was typed is still there.',
  },
  forbidden: {
    title: 'Forbidden',
    advice:
      'Ask whoever administers the namespace: it takes a rule that grants it, or, of what is for administrators, an account with the scope admin.',
  },
  timeout: {
    title: 'No answer in time',
    advice: 'It may still be at work. Try again, or look at its logs.',
  },
  cancelled: {
    title: 'Cancelled',
    advice: 'Whether the service has done something of it by then is not known here.',
  },
  notFound: {
    title: 'Not found',
    advice: 'It may have been removed, or belong to another namespace.',
  },
  invalid: { title: 'Not accepted', advice: 'Correct what is named and try again.' },
  other: { title: 'It failed', advice: 'Try again; the logs of the service may say more.' },
}
