import type { JSX } from 'preact'
import type { CallState } from '../hooks/use-call.ts'
import { Problem } from './problem.tsx'
import { Loading } from './states.tsx'

export interface CallStatusProps {
  readonly call: CallState<unknown>
  /** Subject of {@link Problem}. */
  readonly subject: string
}

/** Shows the error of a call, or that it is loading for the first time. */
export function CallStatus({ call, subject }: CallStatusProps): JSX.Element {
  const { value, error, state, reload } = call
  return (
    <>
      {error !== undefined && <Problem error={error} subject={subject} onRetry={reload} />}
      {value === undefined && state === 'loading' && <Loading />}
    </>
  )
}
