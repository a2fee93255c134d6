import type { JSX } from 'preact'
import { Badge } from '../components/badge.tsx'
import { formatDuration } from '../components/time/format.ts'
import { Time } from '../components/time/time.tsx'
import { forgetCalls, pastCalls } from './past-calls.ts'
import type { Target } from './send.ts'

/** Calls that are listed. */
const MAX_LISTED = 20

/** Calls this account made of the endpoint in this browser: what was asked can be put into the form again. */
export function HistoryView({
  target: { account, service, endpoint, namespace },
  onPick,
}: {
  readonly target: Target
  readonly onPick: (request: unknown) => void
}): JSX.Element {
  const calls = pastCalls(account).filter(
    (call) =>
      call.service === service && call.endpoint === endpoint.name && call.namespace === namespace,
  )
  return (
    <details class="call-history">
      <summary>History ({calls.length})</summary>
      {calls.length === 0 ? (
        <p class="muted">
          Calls made here are listed, in this browser only, without secrets and answers.
        </p>
      ) : (
        <>
          <ol class="history-calls" aria-label="Calls made">
            {calls.slice(0, MAX_LISTED).map(({ at, code, tookMs, request }) => (
              <li key={`${at} ${tookMs}`}>
                <Time ms={at} /> <Badge tone={code < 400 ? 'good' : 'bad'}>{code}</Badge>{' '}
                <span class="muted">{formatDuration(tookMs)}</span>{' '}
                {request === undefined ? (
                  <span class="muted">too long to keep</span>
                ) : (
                  <>
                    <code class="history-request">{request.slice(0, 120)}</code>{' '}
                    <button type="button" class="quiet" onClick={() => onPick(JSON.parse(request))}>
                      Fill in
                    </button>
                  </>
                )}
              </li>
            ))}
          </ol>
          <button type="button" class="quiet" onClick={() => forgetCalls(account)}>
            Forget all calls of this account
          </button>
        </>
      )}
    </details>
  )
}
