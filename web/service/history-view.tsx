import type { JSX } from 'preact'
import { Badge } from '../components/badge.tsx'
import { formatDuration } from '../components/time/format.ts'
import { Time } from '../components/time/time.tsx'
import { clearCalls, pastCalls } from './past-calls.ts'
import type { Target } from './send.ts'

const MAX_LISTED = 20

/** Calls of the endpoint by this account in this browser, whose requests can be reused. */
export function HistoryView({
  target: { account, service, endpoint, namespace },
  onSelect,
}: {
  readonly target: Target
  readonly onSelect: (request: unknown) => void
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
          Calls from this browser appear here. Secrets and responses are not stored.
        </p>
      ) : (
        <>
          <ol class="history-calls" aria-label="Past calls">
            {calls.slice(0, MAX_LISTED).map(({ at, code, tookMs, request }) => (
              <li key={`${at} ${tookMs}`}>
                <Time ms={at} /> <Badge tone={code < 400 ? 'good' : 'bad'}>{code}</Badge>{' '}
                <span class="muted">{formatDuration(tookMs)}</span>{' '}
                {request === undefined ? (
                  <span class="muted">request too long to store</span>
                ) : (
                  <>
                    <code class="history-request">{request.slice(0, 120)}</code>{' '}
                    <button
                      type="button"
                      class="quiet"
                      onClick={() => onSelect(JSON.parse(request))}
                    >
                      Use request
                    </button>
                  </>
                )}
              </li>
            ))}
          </ol>
          <button type="button" class="quiet" onClick={() => clearCalls(account)}>
            Clear history of this account
          </button>
        </>
      )}
    </details>
  )
}
