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
import { ExpiryField, validateExpiry } from './expiry-field.tsx'
import { type ReadRecord, type StoredRecord, toExpiryLeft } from './record.ts'
import { deleteRecord, readRecord, type Table, writeRecord } from './service.ts'
import { tryParse, type ValueDraft, ValueField } from './value-field.tsx'
import { formatValue, toFormat } from './value-format.ts'

export interface RecordEditorProps {
  readonly table: Table
  readonly record: ReadRecord
  readonly onWritten: () => void
  readonly onDeleted: () => void
}

interface RecordDraft {
  readonly base: ReadRecord
  readonly baseVersion: number
  readonly value: ValueDraft
  readonly expiry: string
}

/** Record editor with optimistic concurrency control. Unsaved input is preserved across navigation. */
export function RecordEditor({
  table,
  record,
  onWritten,
  onDeleted,
}: RecordEditorProps): JSX.Element {
  const { key } = record
  const draftKey = ['store', table.database, table.table, key]
  const stored = useMemo(() => readDraft<RecordDraft>(draftKey), [])
  /** Record when editing started. */
  const [base, setBase] = useState(stored?.base ?? record)
  /** Version that a write replaces; 0 recreates a deleted record. */
  const [baseVersion, setBaseVersion] = useState(stored?.baseVersion ?? record.version)
  /** Record as read after a conflict; null if it was deleted. */
  const [conflicting, setConflicting] = useState<ReadRecord | null>()
  const [value, setValue] = useState<ValueDraft>(() => stored?.value ?? toDraft(record))
  const [expiry, setExpiry] = useState(stored?.expiry ?? '')
  const [isBusy, setBusy] = useState(false)
  const [isConfirming, setConfirming] = useState(false)
  const [error, setError] = useState<CallError>()
  const original = useMemo(() => toDraft(base), [base])
  const isValueDirty =
    value.file !== undefined || value.text !== original.text || value.format !== original.format
  const bytes = useMemo(() => tryParse(value), [value])
  const isInvalid = bytes instanceof RangeError || validateExpiry(expiry) !== undefined
  const newest = conflicting && conflicting.version > record.version ? conflicting : record
  const isOutdated = newest.version > baseVersion
  const isDeleted = conflicting === null && baseVersion !== 0
  // Without unsaved input, the newest version is shown.
  if (isOutdated && !isValueDirty && expiry === '') acceptTheirs()
  const draft: RecordDraft = { base, baseVersion, value, expiry }
  useStoredDraft(draftKey, isValueDirty || expiry !== '' ? draft : undefined)

  function acceptTheirs(): void {
    setBase(newest)
    setBaseVersion(newest.version)
    setValue(toDraft(newest))
    setExpiry('')
    setError(undefined)
  }

  function discard(): void {
    setValue(original)
    setExpiry('')
  }

  /** Keeps the local edit, so that the next save overwrites the conflicting change. */
  function keepMine(): void {
    setBaseVersion(isDeleted ? 0 : newest.version)
    setError(undefined)
  }

  async function save(bytes: Uint8Array): Promise<void> {
    setBusy(true)
    setError(undefined)
    const seconds = expiry.trim() === '' ? toExpiryLeft(base, Date.now()) : parseExpiry(expiry)
    const { metadata } = base
    const written = { key, value: encodeBase64(bytes), expiry: seconds, metadata }
    try {
      const version = await writeRecord(table, written, baseVersion)
      showToast(`${key} saved as version ${version}`)
      if (readDraft<RecordDraft>(draftKey)?.value === value) saveDraft(draftKey, undefined)
      setBase({ ...written, version, readMs: Date.now() })
      setBaseVersion(version)
      setValue((current) => (current === value ? toDraft(written) : current))
      setConflicting(undefined)
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
      const current = await readRecord(table, key)
      setConflicting(current && { ...current, readMs: Date.now() })
    } catch {
      // The conflict itself is already displayed.
    }
  }

  return (
    <section class="card record" aria-label={`Record ${key}`}>
      <div class="record-head">
        <h2 class="mono">{key}</h2>
        <span class="muted">
          version {base.version}, expires: {formatExpiry(base.expiry)}
        </span>
        <CopyButton text={key} label="Copy key" />
        <button
          type="button"
          class="quiet"
          onClick={() => saveFile(toFileName(key), [new Uint8Array(decodeBase64(base.value))])}
        >
          Download value
        </button>
        <button type="button" class="danger" onClick={() => setConfirming(true)}>
          Delete
        </button>
      </div>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          if (!(bytes instanceof RangeError)) void save(bytes)
        }}
      >
        <ValueField draft={value} onInput={setValue} />
        <ExpiryField
          value={expiry}
          onInput={setExpiry}
          fallback={base.expiry === 0 ? 'never' : 'unchanged'}
        />
        {(isOutdated || isDeleted) && (
          <p class="notice form-actions" role="status">
            <span>
              {isDeleted
                ? 'This record was deleted by another user, or has expired.'
                : `This record was changed by another user: version ${newest.version}.`}
            </span>
            {!isDeleted && (
              <button type="button" onClick={acceptTheirs}>
                Use theirs
              </button>
            )}
            <button type="button" onClick={keepMine}>
              Keep mine
            </button>
          </p>
        )}
        {error !== undefined && <Problem error={error} subject={`write ${key}`} />}
        <div class="form-actions">
          <button
            type="submit"
            class="primary"
            disabled={
              isBusy || isInvalid || !(isValueDirty || expiry.trim() !== '' || baseVersion === 0)
            }
          >
            Save
          </button>
          <button type="button" disabled={!isValueDirty && expiry === ''} onClick={discard}>
            Discard changes
          </button>
        </div>
      </form>
      {isConfirming && (
        <Confirm
          title={`Delete ${key}?`}
          action="Delete"
          dangerous
          onConfirm={async () => {
            await deleteRecord(table, key, baseVersion)
            saveDraft(draftKey, undefined)
            showToast(`${key} deleted`)
            onDeleted()
          }}
          onClose={() => setConfirming(false)}
        >
          <p>
            Deletes the record from {table.database}/{table.table}. This cannot be undone.
          </p>
        </Confirm>
      )}
    </section>
  )
}

function toDraft({ value }: Pick<StoredRecord, 'value'>): ValueDraft {
  const bytes = decodeBase64(value)
  const format = toFormat(bytes)
  return { format, text: formatValue(bytes, format) }
}

function toFileName(key: string): string {
  return key.replaceAll(/[/\\]/g, '_')
}
