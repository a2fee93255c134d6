import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { Problem } from '../components/problem.tsx'
import { TextField } from '../components/text-field.tsx'
import { showToast } from '../components/toast.tsx'
import { CallError } from '../rpc/call-error.ts'
import { readDraft, saveDraft, useStoredDraft } from '../state/draft-storage.ts'
import { encodeBase64 } from './base64.ts'
import { parseExpiry } from './expiry.ts'
import { ExpiryField, validateExpiry } from './expiry-field.tsx'
import type { StoredRecord } from './record.ts'
import { type Table, writeRecord } from './service.ts'
import { tryParse, type ValueDraft, ValueField } from './value-field.tsx'

export interface NewRecordProps {
  readonly table: Table
  /** Initial content of the key input. */
  readonly prefix: string
  readonly onWritten: (record: StoredRecord) => void
}

interface RecordDraft {
  readonly key: string
  readonly value: ValueDraft
  readonly expiry: string
}

/** Form that creates a record. Unsaved input is preserved when the form is closed. */
export function NewRecord({ table, prefix, onWritten }: NewRecordProps): JSX.Element {
  const draftKey = ['store', table.database, table.table]
  const draft = useMemo(() => readDraft<RecordDraft>(draftKey), [])
  const [key, setKey] = useState(draft?.key ?? prefix)
  const [value, setValue] = useState<ValueDraft>(draft?.value ?? { format: 'text', text: '' })
  const [expiry, setExpiry] = useState(draft?.expiry ?? '')
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<CallError>()
  const bytes = tryParse(value)
  const isInvalid = bytes instanceof RangeError || validateExpiry(expiry) !== undefined
  const isDirty = value.text !== '' || value.file !== undefined
  useStoredDraft(draftKey, isDirty ? { key, value, expiry } : undefined)

  async function save(): Promise<void> {
    if (bytes instanceof RangeError) return
    setBusy(true)
    setError(undefined)
    const record = { key, value: encodeBase64(bytes), expiry: parseExpiry(expiry), metadata: {} }
    try {
      const version = await writeRecord(table, record, 0)
      showToast(`${key} saved`)
      if (readDraft<RecordDraft>(draftKey)?.value === value) saveDraft(draftKey, undefined)
      onWritten({ ...record, version })
    } catch (thrown) {
      setError(CallError.from(thrown))
      setBusy(false)
    }
  }

  return (
    <section class="card" aria-label="New record">
      <h2>New record</h2>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          void save()
        }}
      >
        <TextField label="Key" help="Must not exist yet." required value={key} onInput={setKey} />
        <ValueField draft={value} onInput={setValue} />
        <ExpiryField value={expiry} onInput={setExpiry} fallback="never" />
        {error !== undefined && <Problem error={error} subject={`write ${key}`} />}
        <div class="form-actions">
          <button type="submit" class="primary" disabled={isBusy || isInvalid}>
            Save
          </button>
        </div>
      </form>
    </section>
  )
}
