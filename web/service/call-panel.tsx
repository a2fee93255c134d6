import type { JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Endpoint } from '../../core/contracts/registry.ts'
import { Badge } from '../components/badge.tsx'
import { TextField } from '../components/text-field.tsx'
import { JsonView } from '../components/tree/json-view.tsx'
import { describeSchema } from '../form/read-schema.ts'
import { ROOT } from '../form/to-request.ts'
import { loadRequest, toForm, toRaw } from '../form/typed-request.ts'
import { endedSession, namespace, session } from '../state/session.ts'
import { ResponseView } from './answer-view.tsx'
import { type CallState, openCallState } from './call-state.ts'
import { Commands } from './commands.tsx'
import { type EndpointKind, toKind } from './endpoint-kind.ts'
import { FormFields } from './form-field.tsx'
import { HistoryView } from './history-view.tsx'
import { METADATA, openEmpty, send, type Target, TIMEOUT } from './send.ts'
import { StreamView } from './stream-view.tsx'

const KINDS: Readonly<Record<EndpointKind, string>> = {
  unary: 'unary',
  server: 'server streaming',
  client: 'client streaming',
  both: 'bidirectional streaming',
  unknown: 'streaming',
}

/** Request form of an endpoint, with response, commands, schemas and history. */
export function CallPanel({
  service,
  endpoint,
}: {
  readonly service: string
  readonly endpoint: Endpoint
}): JSX.Element {
  // Input is preserved from the expiry of a session until the next login.
  const { issuer = '', id = '' } = (session.value ?? endedSession.value)?.account ?? {}
  const target: Target = {
    ...{ service, namespace: namespace.value, endpoint },
    account: { issuer, id },
  }
  const callState = openCallState([issuer, id, namespace.value, service], endpoint)
  const kind = toKind(endpoint)
  const form = useRef<HTMLFormElement>(null)
  const submit = (): void => {
    send(callState, target)
    if (callState.problems.value.length > 0) shouldFocusError.current = true
  }
  // True to focus the first invalid field after the next render.
  const shouldFocusError = useRef(false)
  const { value: problems } = callState.problems
  useEffect(() => {
    if (!shouldFocusError.current) return
    shouldFocusError.current = false
    form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [problems])
  return (
    <div class="call-panel">
      <header class="call-head">
        <h2>{endpoint.name}</h2>
        <Badge tone={kind === 'unary' ? 'neutral' : 'accent'}>{KINDS[kind]}</Badge>
        {endpoint.metadata['idempotent'] === 'false' && (
          <Badge tone="warning">not idempotent</Badge>
        )}
      </header>
      {endpoint.metadata['description'] !== undefined && <p>{endpoint.metadata['description']}</p>}
      <form
        ref={form}
        class="call-form"
        aria-label={`Request to ${endpoint.name}`}
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
        <RequestFields callState={callState} />
        <Options callState={callState} />
        <Problems callState={callState} />
        <Buttons callState={callState} target={target} kind={kind} />
      </form>
      {kind === 'unary' ? (
        <ResponseView callState={callState} target={target} onRetry={submit} />
      ) : (
        <StreamView callState={callState} target={target} />
      )}
      <Commands callState={callState} target={target} />
      <Schemas endpoint={endpoint} />
      <HistoryView target={target} onSelect={(request) => loadRequest(callState, request)} />
    </div>
  )
}

function RequestFields({ callState }: { readonly callState: CallState }): JSX.Element {
  const { field, draft, isRaw, raw, problems } = callState
  return (
    <>
      {field.kind !== 'json' && (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset is for form fields
        <div class="call-mode" role="group" aria-label="Input mode">
          <button type="button" aria-pressed={!isRaw.value} onClick={() => toForm(callState)}>
            Form
          </button>
          <button type="button" aria-pressed={isRaw.value} onClick={() => toRaw(callState)}>
            JSON
          </button>
        </div>
      )}
      {isRaw.value ? (
        <TextField
          label="JSON request"
          error={problems.value.find(({ path }) => path === ROOT)?.message}
          class="mono call-raw"
          rows={10}
          value={raw.value}
          onInput={(value) => {
            raw.value = value
          }}
        />
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
  callState: { metadata, timeout, problems },
}: {
  readonly callState: CallState
}): JSX.Element {
  const find = (name: string): string | undefined =>
    problems.value.find(({ path }) => path === name)?.message
  const isInvalid = find(METADATA) !== undefined || find(TIMEOUT) !== undefined
  return (
    <details class="call-options" open={isInvalid || undefined}>
      <summary>Options</summary>
      <TextField
        label="Timeout (ms)"
        error={find(TIMEOUT)}
        inputMode="numeric"
        value={timeout.value}
        onInput={(value) => {
          timeout.value = value
        }}
      />
      <TextField
        label="Metadata"
        help="One name: value per line."
        error={find(METADATA)}
        class="mono"
        rows={2}
        value={metadata.value}
        onInput={(value) => {
          metadata.value = value
        }}
      />
    </details>
  )
}

/** Summary of validation errors, announced to screen readers. */
function Problems({ callState: { problems } }: { readonly callState: CallState }): JSX.Element {
  const { value } = problems
  return (
    <div role="status" class="call-problems">
      {value.length > 0 && (
        <>
          <p>{value.length === 1 ? '1 error:' : `${value.length} errors:`}</p>
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
  callState,
  target,
  kind,
}: {
  readonly callState: CallState
  readonly target: Target
  readonly kind: EndpointKind
}): JSX.Element {
  const { stream, outcome } = callState
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
  const canSend = kind !== 'server'
  return (
    <div class="form-actions">
      {(!isOpen || (canSend && state === 'open')) && (
        <button type="submit" class="primary" title="Ctrl+Enter">
          {isOpen ? 'Send message' : canSend ? 'Open and send' : 'Open stream'}
        </button>
      )}
      {!isOpen && canSend && (
        <button type="button" onClick={() => openEmpty(callState, target)}>
          Open without a message
        </button>
      )}
      {state === 'open' && canSend && (
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
            label={`${title} schema`}
            fileName={`${endpoint.name}.${title.toLowerCase()}.json`}
          />
        </div>
      ))}
    </details>
  )
}
