import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { Field } from '../components/field.tsx'
import { Problem } from '../components/problem.tsx'
import { showToast } from '../components/toast.tsx'
import { CallError } from '../rpc/call-error.ts'
import { readDraft, saveDraft, useStoredDraft } from '../state/draft-storage.ts'
import { encodeBase64 } from './base64.ts'
import { parseExpiry } from './expiry.ts'
import { ExpiryField, tryExpiry } from './expiry-field.tsx'
import type { StoredRecord } from './record.ts'
import { type Table, writeRecord } from './service.ts'
import { type TypedBytes, tryParse, ValueField } from './value-field.tsx'

export interface NewRecordProps {
  readonly table: Table
  /** What the key may begin with. */
  readonly prefix: string
  readonly onWritten: (record: StoredRecord) => void
}

interface RecordDraft {
  readonly key: string
  readonly typed: TypedBytes
  readonly expiry: string
}

/** Writes a record under a key that has none yet. What is typed stays until it is written, also when the form is closed. */
export function NewRecord({ table, prefix, onWritten }: NewRecordProps): JSX.Element {
  const place = ['store', table.database, table.table]
  const kept = useMemo(() => readDraft<RecordDraft>(place), [])
  const [key, setKey] = useState(kept?.key ?? prefix)
  const [typed, setTyped] = useState<TypedBytes>(kept?.typed ?? { format: 'text', text: '' })
  const [expiry, setExpiry] = useState(kept?.expiry ?? '')
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<CallError>()
  const value = tryParse(typed)
  const isWrong = value instanceof RangeError || tryExpiry(expiry) !== undefined
  const isTyped = typed.text !== '' || typed.file !== undefined
  useStoredDraft(place, isTyped ? { key, typed, expiry } : undefined)

  async function save(): Promise<void> {
    if (value instanceof RangeError) return
    setBusy(true)
    setError(undefined)
    const record = { key, value: encodeBase64(value), expiry: parseExpiry(expiry), metadata: {} }
    try {
      const version = await writeRecord(table, record, 0)
      showToast(`${key} was written`)
      if (readDraft<RecordDraft>(place)?.typed === typed) saveDraft(place, undefined)
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
        <Field label="Key" help="One that has no record yet.">
          {(control) => (
            <input
              {...control}
              type="text"
              required
              autocomplete="off"
              spellcheck={false}
              value={key}
              onInput={({ currentTarget }) => setKey(currentTarget.value)}
            />
          )}
        </Field>
        <ValueField typed={typed} onInput={setTyped} />
        <ExpiryField typed={expiry} onInput={setExpiry} otherwise="never" />
        {error !== undefined && <Problem error={error} asked={`writing ${key}`} />}
        <div class="form-actions">
          <button type="submit" class="primary" disabled={isBusy || isWrong}>
            Write
          </button>
        </div>
      </form>
    </section>
  )
}
