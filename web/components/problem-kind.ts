import type { CallError } from '../rpc/call-error.ts'

/** Category of a failed call, from the user's point of view. */
export type ProblemKind =
  | 'unreachable'
  | 'expired'
  | 'forbidden'
  | 'timeout'
  | 'cancelled'
  | 'notFound'
  | 'invalid'
  | 'other'

export function toProblemKind(error: CallError): ProblemKind {
  if (error.isExpiry) return 'expired'
  if (error.isLoss) return 'unreachable'
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

/** Title and advice per category. */
export const PROBLEMS: Readonly<
  Record<ProblemKind, { readonly title: string; readonly advice: string }>
> = {
  unreachable: {
    title: 'Server unreachable',
    advice: 'The page reconnects and refreshes automatically.',
  },
  expired: {
    title: 'Session expired',
    advice: 'Log in again. Your input is preserved.',
  },
  forbidden: {
    title: 'Forbidden',
    advice:
      'Ask an administrator of the namespace for an access rule that grants it. Administrative calls require the admin scope.',
  },
  timeout: {
    title: 'Timed out',
    advice: 'The service may still be processing the call. Try again, or check its logs.',
  },
  cancelled: {
    title: 'Cancelled',
    advice: 'The service may already have processed part of the call.',
  },
  notFound: {
    title: 'Not found',
    advice: 'It may have been deleted, or belong to another namespace.',
  },
  invalid: { title: 'Invalid request', advice: 'Correct the request and try again.' },
  other: { title: 'Failed', advice: 'Try again. The logs of the service may contain details.' },
}
