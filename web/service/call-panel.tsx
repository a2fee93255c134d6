import type { JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Endpoint } from '../../core/contracts/registry.ts'
import { Badge } from '../components/badge.tsx'
import { Field } from '../components/field.tsx'
import { JsonView } from '../components/tree/json-view.tsx'
import { describeSchema } from '../form/read-schema.ts'
import { ROOT } from '../form/to-request.ts'
import { fillIn, toForm, toRaw } from '../form/typed-request.ts'
import { endedSession, namespace, session } from '../state/session.ts'
import { AnswerView } from './answer-view.tsx'
import { type CallState, openSheet } from './call-state.ts'
import { Commands } from './commands.tsx'
import { type EndpointKind, toKind } from './endpoint-kind.ts'
import { FormFields } from './form-field.tsx'
import { HistoryView } from './history-view.tsx'
import { METADATA, openEmpty, send, type Target, TIMEOUT } from './send.ts'
import { StreamView } from './stream-view.tsx'

const KINDS: Readonly<Record<EndpointKind, string>> = {
  unary: 'call',
  server: 'the service streams',
  client: 'the caller streams',
  both: 'both stream',
  unknown: 'stream',
}

/** One endpoint: what it takes, the form to call it, and what it answers. */
export function CallPanel({
  service,
  endpoint,
}: {
  readonly service: string
  readonly endpoint: Endpoint
}): JSX.Element {
  // Of a login that has ended, too: what is typed stays until the next one.
  const { issuer = '', id = '' } = (session.value ?? endedSession.value)?.account ?? {}
  const target: Target = {
    ...{ service, namespace: namespace.value, endpoint },
    account: { issuer, id },
  }
  const sheet = openSheet([issuer, id, namespace.value, service], endpoint)
  const kind = toKind(endpoint)
  const form = useRef<HTMLFormElement>(null)
  const submit = (): void => {
    send(sheet, target)
    if (sheet.problems.value.length > 0) wanted.current = true
  }
  // Once it is drawn: to the first field that is wrong.
  const wanted = useRef(false)
  const { value: problems } = sheet.problems
  useEffect(() => {
    if (!wanted.current) return
    wanted.current = false
    form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [problems])
  return (
    <div class="call-panel">
      <header class="call-head">
        <h2>{endpoint.name}</h2>
        <Badge tone={kind === 'unary' ? 'neutral' : 'accent'}>{KINDS[kind]}</Badge>
        {endpoint.metadata['idempotent'] === 'false' && (
          <Badge tone="warning">not to be repeated</Badge>
        )}
      </header>
      {endpoint.metadata['description'] !== undefined && <p>{endpoint.metadata['description']}</p>}
      <form
        ref={form}
        class="call-form"
        aria-label={`Request of ${endpoint.name}`}
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          submit()
        }}
      >
        <RequestFields sheet={sheet} />
        <Options sheet={sheet} />
        <Problems sheet={sheet} />
        <Buttons sheet={sheet} target={target} kind={kind} />
      </form>
      {kind === 'unary' ? (
        <AnswerView sheet={sheet} target={target} onRetry={submit} />
      ) : (
        <StreamView sheet={sheet} target={target} />
      )}
      <Commands sheet={sheet} target={target} />
      <Schemas endpoint={endpoint} />
      <HistoryView target={target} onPick={(request) => fillIn(sheet, request)} />
    </div>
  )
}

function RequestFields({ sheet }: { readonly sheet: CallState }): JSX.Element {
  const { field, draft, isRaw, raw, problems } = sheet
  return (
    <>
      {field.kind !== 'json' && (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset is of fields
        <div class="call-mode" role="group" aria-label="How the request is typed">
          <button type="button" aria-pressed={!isRaw.value} onClick={() => toForm(sheet)}>
            Form
          </button>
          <button type="button" aria-pressed={isRaw.value} onClick={() => toRaw(sheet)}>
            JSON
          </button>
        </div>
      )}
      {isRaw.value ? (
        <Field
          label="Request as JSON"
          error={problems.value.find(({ path }) => path === ROOT)?.message}
        >
          {(control) => (
            <textarea
              {...control}
              class="mono call-raw"
              rows={10}
              spellcheck={false}
              value={raw.value}
              onInput={({ currentTarget: { value } }) => {
                raw.value = value
              }}
            />
          )}
        </Field>
      ) : (
        <FormFields
          field={field}
          draft={draft.value}
          problems={problems.value}
          onChange={(change) => {
            draft.value = change(draft.value)
          }}
        />
      )}
    </>
  )
}

function Options({
  sheet: { metadata, timeout, problems },
}: {
  readonly sheet: CallState
}): JSX.Element {
  const find = (name: string): string | undefined =>
    problems.value.find(({ path }) => path === name)?.message
  const isWrong = find(METADATA) !== undefined || find(TIMEOUT) !== undefined
  return (
    <details class="call-options" open={isWrong || undefined}>
      <summary>Options</summary>
      <Field label="Time limit, milliseconds" error={find(TIMEOUT)}>
        {(control) => (
          <input
            {...control}
            type="text"
            inputMode="numeric"
            autocomplete="off"
            value={timeout.value}
            onInput={({ currentTarget: { value } }) => {
              timeout.value = value
            }}
          />
        )}
      </Field>
      <Field label="Metadata" help="A line name: value each." error={find(METADATA)}>
        {(control) => (
          <textarea
            {...control}
            class="mono"
            rows={2}
            spellcheck={false}
            value={metadata.value}
            onInput={({ currentTarget: { value } }) => {
              metadata.value = value
            }}
          />
        )}
      </Field>
    </details>
  )
}

/** How many things are wrong, for those who do not see the fields. */
function Problems({ sheet: { problems } }: { readonly sheet: CallState }): JSX.Element {
  const { value } = problems
  return (
    <div role="status" class="call-problems">
      {value.length > 0 && (
        <>
          <p>{value.length === 1 ? 'One thing is wrong:' : `${value.length} things are wrong:`}</p>
          <ul>
            {value.slice(0, 10).map(({ path, message }) => (
              <li key={path + message}>
                <code>{path}</code> {message}
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  )
}

function Buttons({
  sheet,
  target,
  kind,
}: {
  readonly sheet: CallState
  readonly target: Target
  readonly kind: EndpointKind
}): JSX.Element {
  const { stream, outcome } = sheet
  const { state } = stream.state.value
  if (kind === 'unary')
    return (
      <div class="form-actions">
        <button type="submit" class="primary" title="Ctrl+Enter">
          Call
        </button>
        {outcome.value?.state === 'calling' && (
          <button type="button" onClick={outcome.value.cancel}>
            Cancel
          </button>
        )}
      </div>
    )
  const isOpen = state === 'opening' || state === 'open' || state === 'half'
  const sends = kind !== 'server'
  return (
    <div class="form-actions">
      {(!isOpen || (sends && state === 'open')) && (
        <button type="submit" class="primary" title="Ctrl+Enter">
          {isOpen ? 'Send message' : sends ? 'Open and send' : 'Open stream'}
        </button>
      )}
      {!isOpen && sends && (
        <button type="button" onClick={() => openEmpty(sheet, target)}>
          Open without a message
        </button>
      )}
      {state === 'open' && sends && (
        <button type="button" onClick={() => stream.end()}>
          End sending
        </button>
      )}
      {isOpen && (
        <button type="button" onClick={() => stream.stop()}>
          Stop
        </button>
      )}
    </div>
  )
}

function Schemas({ endpoint }: { readonly endpoint: Endpoint }): JSX.Element {
  const schemas = useMemo(
    () => [
      ['Request', describeSchema(endpoint, 'request')] as const,
      ['Response', describeSchema(endpoint, 'response')] as const,
    ],
    [endpoint],
  )
  return (
    <details class="call-schemas">
      <summary>Schemas</summary>
      {schemas.map(([title, schema]) => (
        <div key={title}>
          <h3>{title}</h3>
          <JsonView
            value={schema}
            label={`Schema of the ${title.toLowerCase()}`}
            fileName={`${endpoint.name}.${title.toLowerCase()}.json`}
          />
        </div>
      ))}
    </details>
  )
}
