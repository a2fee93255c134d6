import { Fragment, type JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Badge } from '../components/badge.tsx'
import { Problem } from '../components/problem.tsx'
import { Loading } from '../components/states.tsx'
import { formatBytes, formatDuration } from '../components/time/format.ts'
import { JsonView } from '../components/tree/json-view.tsx'
import type { Fields } from '../rpc/call-error.ts'
import type { CallState } from './call-state.ts'
import type { Target } from './send.ts'

export interface AnswerViewProps {
  readonly sheet: CallState
  readonly target: Target
  readonly onRetry: () => void
}

/** What came of the last call: its status, time and size, which are read out, its fields and its body. */
export function AnswerView({ sheet, target, onRetry }: AnswerViewProps): JSX.Element {
  const { value: outcome } = sheet.outcome
  const section = useRef<HTMLElement>(null)
  const before = useRef(outcome)
  useEffect(() => {
    // What came while the page was shown; not what was there already.
    if (before.current !== outcome && outcome?.state !== 'calling')
      section.current?.scrollIntoView({ block: 'nearest' })
    before.current = outcome
  }, [outcome])
  return (
    <section
      ref={section}
      class="answer"
      aria-label={outcome === undefined ? undefined : 'Answer'}
      data-state={outcome?.state}
    >
      {outcome?.state === 'calling' && <Loading label="Waiting for the answer" />}
      <div role="status">
        {outcome?.state === 'answered' && (
          <p class="answer-facts">
            <Badge tone="good">200 OK</Badge> <span>{formatDuration(outcome.answer.tookMs)}</span>{' '}
            <span>{formatBytes(outcome.answer.bytes)}</span>
          </p>
        )}
        {outcome?.state === 'failed' && (
          <p class="answer-facts">
            <Badge tone="bad">
              {outcome.error.code} {outcome.error.status}
            </Badge>{' '}
            <span>{formatDuration(outcome.tookMs)}</span>
          </p>
        )}
      </div>
      {outcome?.state === 'answered' && (
        <>
          <FieldList fields={outcome.answer.fields} />
          <Body body={outcome.answer.body} name={target.endpoint.name} />
        </>
      )}
      {outcome?.state === 'failed' && (
        <>
          <Problem
            error={outcome.error}
            asked={`${target.service} ${target.endpoint.name}`}
            onRetry={onRetry}
          />
          <FieldList fields={outcome.error.fields} />
        </>
      )}
    </section>
  )
}

/** Header fields of an answer. */
function FieldList({ fields }: { readonly fields: Fields }): JSX.Element | null {
  if (fields.length === 0) return null
  return (
    <details class="answer-fields">
      <summary>Headers ({fields.length})</summary>
      <dl class="facts">
        {fields.map(([name, value], i) => (
          <Fragment key={i}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
      </dl>
    </details>
  )
}

/** JSON; or what a service answers in another type: text, or bytes as base64. */
function Body({ body, name }: { readonly body: unknown; readonly name: string }): JSX.Element {
  const shown = body instanceof Uint8Array ? toBase64(body) : body
  return <JsonView value={shown} label="Body of the answer" fileName={`${name}.json`} />
}

function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 0x8000)
    text += String.fromCharCode(...bytes.subarray(at, at + 0x8000))
  return btoa(text)
}
