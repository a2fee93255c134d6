import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { REDACTED } from '../../lib/text/redact.ts'
import { CopyButton } from '../components/copy-button.tsx'
import { TextField } from '../components/text-field.tsx'
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

const STORAGE_KEY = 'mx.gateway'
/** Gateway URL, which a browser can only guess from the host of the page. */
const gateway = signal(localStorage.getItem(STORAGE_KEY) ?? `http://${location.hostname}:8080`)

/** Commands equivalent to the call, with secrets masked unless they are revealed. */
export function Commands({
  callState,
  target,
}: {
  readonly callState: CallState
  readonly target: Target
}): JSX.Element {
  // Rendered only while open, because the commands change with each keystroke.
  const [isOpen, setOpen] = useState(false)
  return (
    <details class="call-commands" onToggle={({ currentTarget: { open } }) => setOpen(open)}>
      <summary>Commands</summary>
      {isOpen && <CommandList callState={callState} target={target} />}
    </details>
  )
}

function CommandList({
  callState,
  target,
}: {
  readonly callState: CallState
  readonly target: Target
}): JSX.Element {
  const [revealed, setRevealed] = useState<CallState>()
  const unmasked = toShellCall(callState, target)
  if (unmasked === undefined) return <p class="muted">The request is invalid or incomplete.</p>
  const isRevealed = revealed === callState
  const masked = maskCall(callState.field, unmasked)
  const call = isRevealed ? unmasked : masked
  const curl = toCurlCommand(gateway.value, call)
  return (
    <>
      {JSON.stringify(masked) !== JSON.stringify(unmasked) && (
        <p class="muted">
          {isRevealed
            ? 'The shell may store secrets in its history.'
            : `Secrets are masked as ${REDACTED}.`}{' '}
          <button
            type="button"
            class="quiet"
            aria-pressed={isRevealed}
            onClick={() => setRevealed(isRevealed ? undefined : callState)}
          >
            Show secrets
          </button>
        </p>
      )}
      <Command title="mx" text={toMxCommand(call)} />
      {curl === undefined ? (
        <p class="muted">No curl command: HTTP does not support several messages per call.</p>
      ) : (
        <Command title="curl" text={curl} />
      )}
      {needsFile(call.requests) && (
        <p class="muted">
          The request is too long for the command line: save it as <code>{REQUEST_FILE}</code>.{' '}
          <CopyButton label="Copy request" text={() => JSON.stringify(call.requests[0])} />
        </p>
      )}
      <TextField
        label="Gateway URL"
        help="Used by the curl command."
        type="url"
        value={gateway.value}
        onInput={(value) => {
          gateway.value = value
          localStorage.setItem(STORAGE_KEY, value)
        }}
      />
    </>
  )
}

function Command({ title, text }: { readonly title: string; readonly text: string }): JSX.Element {
  return (
    <div class="call-command">
      <h3>{title}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable elements must be reachable by keyboard (WCAG 2.1.1) */}
      <section class="call-line" tabIndex={0} aria-label={`${title} command`}>
        <pre>
          <code>{text}</code>
        </pre>
      </section>
      <CopyButton text={text} label={`Copy ${title} command`} />
    </div>
  )
}

/** The call, or the messages sent on a stream; undefined while the input is invalid. */
function toShellCall(
  callState: CallState,
  { service, endpoint, namespace }: Target,
): ShellCall | undefined {
  const sentMessages = callState.stream.messages.value.filter(
    ({ direction }) => direction === 'sent',
  )
  const { value, problems } = readRequest(callState)
  const requests =
    sentMessages.length > 1
      ? sentMessages.map(({ body }) => body)
      : problems.length > 0
        ? []
        : [value]
  if (requests.length === 0) return undefined
  try {
    return {
      ...{
        service,
        endpoint,
        requests,
        namespace: namespace === DEFAULT_NAMESPACE ? '' : namespace,
      },
      metadata: parseMetadataLines(callState.metadata.value),
      timeoutMs: parseTimeout(callState.timeout.value),
    }
  } catch {
    return undefined
  }
}
