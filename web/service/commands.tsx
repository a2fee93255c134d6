import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { REDACTED } from '../../lib/text/redact.ts'
import { CopyButton } from '../components/copy-button.tsx'
import { Field } from '../components/field.tsx'
import { parseMetadataLines, parseTimeout } from '../form/call-options.ts'
import {
  maskCall,
  needsFile,
  REQUEST_FILE,
  type ShellCall,
  toCurlCommand,
  toMxCommand,
} from '../form/commands.ts'
import { readRequest } from '../form/typed-request.ts'
import { DEFAULT_NAMESPACE } from '../state/session.ts'
import type { CallState } from './call-state.ts'
import type { Target } from './send.ts'

const KEPT = 'mx.gateway'
/** Where the gateway of this server is: a browser cannot know more than the host of the page. */
const gateway = signal(localStorage.getItem(KEPT) ?? `http://${location.hostname}:8080`)

/** The same call as commands to copy; with its secrets only where somebody asks for them. */
export function Commands({
  sheet,
  target,
}: {
  readonly sheet: CallState
  readonly target: Target
}): JSX.Element {
  // They are made anew with each key that is typed.
  const [isOpen, setOpen] = useState(false)
  return (
    <details class="call-commands" onToggle={({ currentTarget: { open } }) => setOpen(open)}>
      <summary>Commands</summary>
      {isOpen && <Inside sheet={sheet} target={target} />}
    </details>
  )
}

function Inside({
  sheet,
  target,
}: {
  readonly sheet: CallState
  readonly target: Target
}): JSX.Element {
  const [told, setTold] = useState<CallState>()
  const typed = toShellCall(sheet, target)
  if (typed === undefined) return <p class="muted">The request is not filled in rightly yet.</p>
  const isTold = told === sheet
  const masked = maskCall(sheet.field, typed)
  const call = isTold ? typed : masked
  const curl = toCurlCommand(gateway.value, call)
  return (
    <>
      {JSON.stringify(masked) !== JSON.stringify(typed) && (
        <p class="muted">
          {isTold ? 'A shell keeps secrets in its history.' : `${REDACTED} stands for secrets.`}{' '}
          <button
            type="button"
            class="quiet"
            aria-pressed={isTold}
            onClick={() => setTold(isTold ? undefined : sheet)}
          >
            Show secrets
          </button>
        </p>
      )}
      <Command title="mx" text={toMxCommand(call)} />
      {curl === undefined ? (
        <p class="muted">
          HTTP has no call that sends several messages: there is no command for curl.
        </p>
      ) : (
        <Command title="curl" text={curl} />
      )}
      {needsFile(call.requests) && (
        <p class="muted">
          The request is long: save it as <code>{REQUEST_FILE}</code>, beside.{' '}
          <CopyButton label="Copy the request" text={() => JSON.stringify(call.requests[0])} />
        </p>
      )}
      <Field label="Gateway" help="What curl calls.">
        {(control) => (
          <input
            {...control}
            type="url"
            value={gateway.value}
            onInput={({ currentTarget: { value } }) => {
              gateway.value = value
              localStorage.setItem(KEPT, value)
            }}
          />
        )}
      </Field>
    </>
  )
}

function Command({ title, text }: { readonly title: string; readonly text: string }): JSX.Element {
  return (
    <div class="call-command">
      <h3>{title}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1) */}
      <section class="call-line" tabIndex={0} aria-label={`Command for ${title}`}>
        <pre>
          <code>{text}</code>
        </pre>
      </section>
      <CopyButton text={text} label={`Copy for ${title}`} />
    </div>
  )
}

/** What is typed, or of a stream what was sent; undefined: it is no request yet. */
function toShellCall(
  sheet: CallState,
  { service, endpoint, namespace }: Target,
): ShellCall | undefined {
  const sent = sheet.stream.messages.value.filter(({ direction }) => direction === 'sent')
  const { value, problems } = readRequest(sheet)
  const requests =
    sent.length > 1 ? sent.map(({ body }) => body) : problems.length > 0 ? [] : [value]
  if (requests.length === 0) return undefined
  try {
    return {
      ...{
        service,
        endpoint,
        requests,
        namespace: namespace === DEFAULT_NAMESPACE ? '' : namespace,
      },
      metadata: parseMetadataLines(sheet.metadata.value),
      timeoutMs: parseTimeout(sheet.timeout.value),
    }
  } catch {
    return undefined
  }
}
