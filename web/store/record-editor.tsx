import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Confirm } from '../parts/confirm.tsx'
import { Copy } from '../parts/copy.tsx'
import { Problem } from '../parts/problem.tsx'
import { saveFile } from '../parts/save-file.ts'
import { showToast } from '../parts/toast.tsx'
import { CallError } from '../rpc/call-error.ts'
import { decodeBase64, encodeBase64 } from './base64.ts'
import { formatExpiry, parseExpiry } from './expiry.ts'
import { ExpiryField, tryExpiry } from './expiry-field.tsx'
import { type StoredRecord, toExpiryLeft } from './record.ts'
import { deleteRecord, type Table, writeRecord } from './service.ts'
import { tryParse, ValueField } from './value-field.tsx'
import { formatValue, toFormat } from './value-format.ts'

export interface RecordEditorProps {
  readonly table: Table
  readonly record: StoredRecord
  /** When it was read, Unix time in milliseconds. */
  readonly readMs: number
  /** Told when it was written or deleted, or may have been by others. */
  readonly onChanged: () => void
}

/** Shows a record, changes and deletes it: on condition that nobody else did meanwhile. */
export function RecordEditor({ table, record, readMs, onChanged }: RecordEditorProps): JSX.Element {
  const { key } = record
  /** The record that typing began with. */
  const [base, setBase] = useState(record)
  const [typed, setTyped] = useState(() => toTyped(record))
  const [expiry, setExpiry] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const [error, setError] = useState<CallError>()
  const isTyped = typed.text !== toTyped(base).text || typed.format !== toTyped(base).format
  const value = tryParse(typed)
  const isWrong = value instanceof RangeError || tryExpiry(expiry) !== undefined
  const isNewer = record.version !== base.version
  // What nobody has begun to change is shown as it is now.
  if (isNewer && !isTyped && expiry === '') take()

  function take(): void {
    setBase(record)
    setTyped(toTyped(record))
    setExpiry('')
    setError(undefined)
  }

  async function save(): Promise<void> {
    if (value instanceof RangeError) return
    setBusy(true)
    setError(undefined)
    const ends =
      expiry.trim() === '' ? toExpiryLeft(base, Date.now() - readMs) : parseExpiry(expiry)
    const { metadata } = base
    const written = { key, value: encodeBase64(value), expiry: ends, metadata }
    try {
      const version = await writeRecord(table, written, base.version)
      showToast(`${key} was written: version ${version}`)
      setBase({ ...written, version })
      setExpiry('')
      onChanged()
    } catch (thrown) {
      const failure = CallError.from(thrown)
      setError(failure)
      if (failure.code === 409) onChanged()
    }
    setBusy(false)
  }

  return (
    <section class="card record" aria-label={`Record ${key}`}>
      <div class="record-head">
        <h2 class="mono">{key}</h2>
        <span class="muted">
          version {base.version}, ends: {formatExpiry(base.expiry)}
        </span>
        <Copy text={key} label="Copy key" />
        <button
          type="button"
          class="quiet"
          onClick={() => saveFile(toFileName(key), [new Uint8Array(decodeBase64(base.value))])}
        >
          Download value
        </button>
        <button type="button" class="danger" onClick={() => setAsking(true)}>
          Delete
        </button>
      </div>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          void save()
        }}
      >
        <ValueField typed={typed} onInput={setTyped} />
        <ExpiryField
          typed={expiry}
          onInput={setExpiry}
          otherwise={base.expiry === 0 ? 'never, as now' : 'when it ends now'}
        />
        {isNewer && (
          <p class="notice" role="status">
            It was changed meanwhile, by somebody else: version {record.version}.{' '}
            <button type="button" onClick={take}>
              Take theirs
            </button>{' '}
            <button type="button" onClick={() => setBase(record)}>
              Keep mine
            </button>
          </p>
        )}
        {error !== undefined && <Problem error={error} asked={`writing ${key}`} />}
        <div class="form-actions">
          <button
            type="submit"
            class="primary"
            disabled={isBusy || isWrong || !(isTyped || expiry.trim() !== '')}
          >
            Write
          </button>
          <button type="button" disabled={!isTyped && expiry === ''} onClick={take}>
            Undo typing
          </button>
        </div>
      </form>
      {isAsking && (
        <Confirm
          title={`Delete ${key}?`}
          action="Delete"
          dangerous
          onConfirm={async () => {
            await deleteRecord(table, key, base.version)
            showToast(`${key} was deleted`)
            onChanged()
          }}
          onClose={() => setAsking(false)}
        >
          <p>
            The record goes from {table.database}/{table.table}. This cannot be undone.
          </p>
        </Confirm>
      )}
    </section>
  )
}

function toTyped({ value }: StoredRecord) {
  const bytes = decodeBase64(value)
  const format = toFormat(bytes)
  return { format, text: formatValue(bytes, format) }
}

/** What stands before a slash would be a folder. */
function toFileName(key: string): string {
  return key.replaceAll(/[/\\]/g, '_')
}
