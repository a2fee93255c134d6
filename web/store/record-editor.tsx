import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { CopyButton } from '../components/copy-button.tsx'
import { Confirm } from '../components/dialog/confirm.tsx'
import { saveFile } from '../components/files/save-file.ts'
import { Problem } from '../components/problem.tsx'
import { showToast } from '../components/toast.tsx'
import { CallError } from '../rpc/call-error.ts'
import { readDraft, saveDraft, useStoredDraft } from '../state/draft-storage.ts'
import { decodeBase64, encodeBase64 } from './base64.ts'
import { formatExpiry, parseExpiry } from './expiry.ts'
import { ExpiryField, tryExpiry } from './expiry-field.tsx'
import { type ReadRecord, type StoredRecord, toExpiryLeft } from './record.ts'
import { deleteRecord, readRecord, type Table, writeRecord } from './service.ts'
import { type TypedBytes, tryParse, ValueField } from './value-field.tsx'
import { formatValue, toFormat } from './value-format.ts'

export interface RecordEditorProps {
  readonly table: Table
  readonly record: ReadRecord
  readonly onWritten: () => void
  readonly onDeleted: () => void
}

/** What is typed of a record. */
interface RecordDraft {
  readonly base: ReadRecord
  readonly known: number
  readonly typed: TypedBytes
  readonly expiry: string
}

/** Shows a record, changes and deletes it: on condition that nobody else did meanwhile. What is typed stays while others are looked at. */
export function RecordEditor({
  table,
  record,
  onWritten,
  onDeleted,
}: RecordEditorProps): JSX.Element {
  const { key } = record
  const place = ['store', table.database, table.table, key]
  const kept = useMemo(() => readDraft<RecordDraft>(place), [])
  /** The record that typing began with. */
  const [base, setBase] = useState(kept?.base ?? record)
  /** The version that is changed; 0: it is not there, and is made again. */
  const [known, setKnown] = useState(kept?.known ?? record.version)
  /** As it was found after a conflict; null: it is gone. */
  const [found, setFound] = useState<ReadRecord | null>()
  const [typed, setTyped] = useState<TypedBytes>(() => kept?.typed ?? toTyped(record))
  const [expiry, setExpiry] = useState(kept?.expiry ?? '')
  const [isBusy, setBusy] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const [error, setError] = useState<CallError>()
  const shown = useMemo(() => toTyped(base), [base])
  const isTyped =
    typed.file !== undefined || typed.text !== shown.text || typed.format !== shown.format
  const value = useMemo(() => tryParse(typed), [typed])
  const isWrong = value instanceof RangeError || tryExpiry(expiry) !== undefined
  const newest = found && found.version > record.version ? found : record
  const isNewer = newest.version > known
  const isGone = found === null && known !== 0
  // What nobody has begun to change is shown as it is now.
  if (isNewer && !isTyped && expiry === '') take()
  const draft: RecordDraft = { base, known, typed, expiry }
  useStoredDraft(place, isTyped || expiry !== '' ? draft : undefined)

  function take(): void {
    setBase(newest)
    setKnown(newest.version)
    setTyped(toTyped(newest))
    setExpiry('')
    setError(undefined)
  }

  function undo(): void {
    setTyped(shown)
    setExpiry('')
  }

  /** What is typed is written over what others wrote. */
  function keep(): void {
    setKnown(isGone ? 0 : newest.version)
    setError(undefined)
  }

  async function save(bytes: Uint8Array): Promise<void> {
    setBusy(true)
    setError(undefined)
    const ends = expiry.trim() === '' ? toExpiryLeft(base, Date.now()) : parseExpiry(expiry)
    const { metadata } = base
    const written = { key, value: encodeBase64(bytes), expiry: ends, metadata }
    try {
      const version = await writeRecord(table, written, known)
      showToast(`${key} was written: version ${version}`)
      if (readDraft<RecordDraft>(place)?.typed === typed) saveDraft(place, undefined)
      setBase({ ...written, version, readMs: Date.now() })
      setKnown(version)
      setTyped((now) => (now === typed ? toTyped(written) : now))
      setFound(undefined)
      setExpiry('')
      onWritten()
    } catch (thrown) {
      await fail(CallError.from(thrown))
    }
    setBusy(false)
  }

  async function fail(failure: CallError): Promise<void> {
    setError(failure)
    if (failure.code !== 409) return
    try {
      const now = await readRecord(table, key)
      setFound(now && { ...now, readMs: Date.now() })
    } catch {
      // That it was changed is told already.
    }
  }

  return (
    <section class="card record" aria-label={`Record ${key}`}>
      <div class="record-head">
        <h2 class="mono">{key}</h2>
        <span class="muted">
          version {base.version}, ends: {formatExpiry(base.expiry)}
        </span>
        <CopyButton text={key} label="Copy key" />
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
          if (!(value instanceof RangeError)) void save(value)
        }}
      >
        <ValueField typed={typed} onInput={setTyped} />
        <ExpiryField
          typed={expiry}
          onInput={setExpiry}
          otherwise={base.expiry === 0 ? 'never, as now' : 'when it ends now'}
        />
        {(isNewer || isGone) && (
          <p class="notice form-actions" role="status">
            <span>
              {isGone
                ? 'It was deleted meanwhile, by somebody else, or has ended.'
                : `It was changed meanwhile, by somebody else: version ${newest.version}.`}
            </span>
            {!isGone && (
              <button type="button" onClick={take}>
                Take theirs
              </button>
            )}
            <button type="button" onClick={keep}>
              Keep mine
            </button>
          </p>
        )}
        {error !== undefined && <Problem error={error} asked={`writing ${key}`} />}
        <div class="form-actions">
          <button
            type="submit"
            class="primary"
            disabled={isBusy || isWrong || !(isTyped || expiry.trim() !== '' || known === 0)}
          >
            Write
          </button>
          <button type="button" disabled={!isTyped && expiry === ''} onClick={undo}>
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
            await deleteRecord(table, key, known)
            saveDraft(place, undefined)
            showToast(`${key} was deleted`)
            onDeleted()
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

function toTyped({ value }: Pick<StoredRecord, 'value'>): TypedBytes {
  const bytes = decodeBase64(value)
  const format = toFormat(bytes)
  return { format, text: formatValue(bytes, format) }
}

/** What stands before a slash would be a folder. */
function toFileName(key: string): string {
  return key.replaceAll(/[/\\]/g, '_')
}
