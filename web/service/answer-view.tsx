import { Fragment, type JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Badge } from '../components/badge.tsx'
import { Problem } from '../components/problem.tsx'
import { Loading } from '../components/states.tsx'
import { formatBytes, formatDuration } from '../components/time/format.ts'
import { JsonView } from '../components/tree/json-view.tsx'
import type { Fields } from '../rpc/call-error.ts'
import { encodeBase64 } from '../store/base64.ts'
import type { CallState } from './call-state.ts'
import type { Target } from './send.ts'

export interface ResponseViewProps {
  readonly callState: CallState
  readonly target: Target
  readonly onRetry: () => void
}

/**
 * Result of the last call: status, duration and size (announced to screen readers), headers and
 * body.
 */
export function ResponseView({ callState, target, onRetry }: ResponseViewProps): JSX.Element {
  const { value: outcome } = callState.outcome
  const section = useRef<HTMLElement>(null)
  const previous = useRef(outcome)
  useEffect(() => {
    // Runs only for results that arrive while the page is open.
    if (previous.current !== outcome && outcome?.state !== 'calling')
      section.current?.scrollIntoView({ block: 'nearest' })
    previous.current = outcome
  }, [outcome])
  return (
    <section
      ref={section}
      class="response"
      aria-label={outcome === undefined ? undefined : 'Response'}
      data-state={outcome?.state}
    >
      {outcome?.state === 'calling' && <Loading label="Waiting for the response" />}
      <div role="status">
        {outcome?.state === 'succeeded' && (
          <p class="response-facts">
            <Badge tone="good">200 OK</Badge> <span>{formatDuration(outcome.response.tookMs)}</span>{' '}
            <span>{formatBytes(outcome.response.bytes)}</span>
          </p>
        )}
        {outcome?.state === 'failed' && (
          <p class="response-facts">
            <Badge tone="bad">
              {outcome.error.code} {outcome.error.status}
            </Badge>{' '}
            <span>{formatDuration(outcome.tookMs)}</span>
          </p>
        )}
      </div>
      {outcome?.state === 'succeeded' && (
        <>
          <HeaderList headers={outcome.response.fields} />
          <Body body={outcome.response.body} name={target.endpoint.name} />
        </>
      )}
      {outcome?.state === 'failed' && (
        <>
          <Problem
            error={outcome.error}
            subject={`${target.service} ${target.endpoint.name}`}
            onRetry={onRetry}
          />
          <HeaderList headers={outcome.error.fields} />
        </>
      )}
    </section>
  )
}

function HeaderList({ headers }: { readonly headers: Fields }): JSX.Element | null {
  if (headers.length === 0) return null
  return (
    <details class="response-fields">
      <summary>Headers ({headers.length})</summary>
      <dl class="facts">
        {headers.map(([name, value], i) => (
          <Fragment key={i}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
      </dl>
    </details>
  )
}

/** Shows JSON, text for other content types, or Base64 for bytes. */
function Body({ body, name }: { readonly body: unknown; readonly name: string }): JSX.Element {
  const value = body instanceof Uint8Array ? encodeBase64(body) : body
  return <JsonView value={value} label="Response body" fileName={`${name}.json`} />
}
