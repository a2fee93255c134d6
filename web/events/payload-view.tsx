import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { CopyButton } from '../components/copy-button.tsx'
import { saveFile } from '../components/files/save-file.ts'
import { formatBytes } from '../components/time/format.ts'
import { JsonView } from '../components/tree/json-view.tsx'
import { isTooDeep } from '../json/json-levels.ts'
import { decodeBase64 } from '../store/base64.ts'
import { formatValue, toFormat } from '../store/value-format.ts'

/** Matches numbers that may exceed 2^53 and would change when parsed. */
const LONG_NUMBER = /\d{16}/
/** Longer texts are truncated until expanded. */
const MAX_CHARACTERS = 20_000

/** Payload of an event as JSON, text or hex. */
export function PayloadView({
  payload,
  name,
}: {
  /** Base64. */
  readonly payload: string
  /** Name of the downloaded file. */
  readonly name: string
}): JSX.Element {
  const bytes = decodeBase64(payload)
  const format = toFormat(bytes)
  const text = formatValue(bytes, format)
  if (bytes.length === 0) return <p class="muted">Empty payload</p>
  if (format === 'json' && !LONG_NUMBER.test(text) && !isTooDeep(text))
    return <JsonView value={JSON.parse(text)} fileName={`${name}.json`} />
  const save = (): void => saveFile(name, [new Uint8Array(bytes)])
  return (
    <div class="json">
      <div class="json-actions">
        <span class="muted">
          {formatBytes(bytes.length)}
          {format === 'hex' && ', hex'}
        </span>
        <CopyButton text={text} />
        <button type="button" class="quiet" onClick={save}>
          Download
        </button>
      </div>
      <LongText text={text} />
    </div>
  )
}

function LongText({ text }: { readonly text: string }): JSX.Element {
  const [all, setAll] = useState(false)
  const isLong = text.length > MAX_CHARACTERS && !all
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable elements must be reachable by keyboard (WCAG 2.1.1) */}
      <section class="json-scroll" aria-label="Payload" tabIndex={0}>
        <pre>{isLong ? `${text.slice(0, MAX_CHARACTERS)}…` : text}</pre>
      </section>
      {isLong && (
        <button type="button" class="quiet" onClick={() => setAll(true)}>
          Show all {formatBytes(text.length)}
        </button>
      )}
    </>
  )
}
