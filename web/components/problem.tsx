import type { JSX } from 'preact'
import type { CallError } from '../rpc/call-error.ts'
import { namespace, session } from '../state/session.ts'
import { PROBLEMS, toProblemKind } from './problem-kind.ts'

export interface ProblemProps {
  readonly error: CallError
  /** Failed action, such as `registry Registry.ListServices` or "list of services". */
  readonly subject: string
  readonly onRetry?: () => void
}

/** Error message of a failed call, with action, reason and advice. */
export function Problem({ error, subject, onRetry }: ProblemProps): JSX.Element {
  const { value: current } = session
  const kind = toProblemKind(error)
  const { title, advice } = PROBLEMS[kind]
  return (
    <div class="problem" role="alert" data-kind={kind}>
      <p class="problem-title">
        {title}: {subject}
      </p>
      <p>
        {error.detail !== '' && <span class="problem-detail">{error.detail} </span>}
        <span class="problem-source">
          ({error.code} {error.status}, {error.id})
        </span>
      </p>
      {kind === 'forbidden' && current !== null && (
        <p>
          Account <b>{current.account.id}</b> of namespace <b>{current.namespace}</b>, calling in
          namespace <b>{namespace.value}</b>.
        </p>
      )}
      <p class="problem-advice">{advice}</p>
      {onRetry !== undefined && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}
