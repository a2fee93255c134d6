import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { Field } from '../components/field.tsx'
import { VALUE_BYTES } from '../components/files/file-limit.ts'
import { Picked, readPicked } from '../components/files/picked-file.tsx'
import { Problem } from '../components/problem.tsx'
import { SelectField } from '../components/select-field.tsx'
import { TextField } from '../components/text-field.tsx'
import { showToast } from '../components/toast.tsx'
import { CallError } from '../rpc/call-error.ts'
import { call } from '../rpc/caller.ts'
import { useDraft } from '../state/draft-storage.ts'
import type { ValueFormat } from '../store/value-format.ts'
import { DRAFT_KEY, type Draft, type DraftErrors, EMPTY, toRequest } from './draft.ts'

export interface PublishFormProps {
  /** Fixed topic; if undefined, the form shows an input for it. */
  readonly topic?: string
  readonly onPublished: (topic: string) => void
}

interface Published {
  readonly id: string
  readonly sequence: number
}

/** Form that publishes an event. It is not reset afterwards, so that similar events can follow. */
export function PublishForm({ topic, onPublished }: PublishFormProps): JSX.Element {
  const [errors, setErrors] = useState<DraftErrors>({})
  const [failure, setFailure] = useState<CallError>()
  const [busy, setBusy] = useState(false)
  const [stored, setDraft] = useDraft(DRAFT_KEY, EMPTY)
  const draft = topic === undefined ? stored : { ...stored, topic }
  const latest = useRef(stored)
  latest.current = stored
  // Uses the latest draft, because files are read asynchronously.
  const update = (change: Partial<Draft>): void => setDraft({ ...latest.current, ...change })

  async function publish(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    const result = toRequest(draft)
    setErrors('errors' in result ? result.errors : {})
    setFailure(undefined)
    if ('errors' in result) return
    setBusy(true)
    try {
      const { body } = await call<Published>('events', 'Stream.Publish', result.request)
      showToast(`Published to ${draft.topic} with sequence ${body.sequence}`)
      onPublished(draft.topic.trim())
    } catch (error) {
      setFailure(CallError.from(error))
    }
    setBusy(false)
  }

  return (
    <form
      class="form record-form"
      aria-label="Publish event"
      onSubmit={(event) => void publish(event)}
    >
      {topic === undefined && (
        <TextField
          label="Topic"
          help="Created if it does not exist."
          error={errors.topic}
          value={draft.topic}
          onInput={(topic) => update({ topic })}
        />
      )}
      {draft.file === undefined ? (
        <PayloadFields draft={draft} error={errors.payload} onChange={update} />
      ) : (
        <Picked file={draft.file} onRemove={() => update({ file: undefined })} />
      )}
      <TextField
        label="Metadata"
        help="One name=value per line, or a JSON object."
        error={errors.metadata}
        class="mono"
        rows={3}
        value={draft.metadata}
        onInput={(metadata) => update({ metadata })}
      />
      <TextField
        label="Time"
        help="Defaults to now."
        error={errors.time}
        type="datetime-local"
        step={1}
        value={draft.time}
        onInput={(time) => update({ time })}
      />
      {failure !== undefined && (
        <Problem error={failure} subject={`publish to ${draft.topic} (events Stream.Publish)`} />
      )}
      <div class="form-actions">
        <button type="submit" class="primary" disabled={busy}>
          Publish
        </button>
      </div>
    </form>
  )
}

interface PayloadFieldsProps {
  readonly draft: Draft
  readonly error: string | undefined
  readonly onChange: (change: Partial<Draft>) => void
}

function PayloadFields({ draft, error, onChange }: PayloadFieldsProps): JSX.Element {
  return (
    <>
      <SelectField
        label="Format"
        value={draft.format}
        choices={FORMATS}
        onInput={(format) => onChange({ format })}
      />
      <TextField
        label="Payload"
        error={error}
        class="mono"
        rows={8}
        value={draft.payload}
        onInput={(payload) => onChange({ payload })}
      />
      <Field label="Payload file" help="Sent unchanged in place of the text.">
        {(control) => (
          <input
            {...control}
            type="file"
            onChange={async ({ currentTarget }) => {
              const file = await readPicked(currentTarget.files?.[0], VALUE_BYTES)
              if (file !== undefined) onChange({ file })
            }}
          />
        )}
      </Field>
    </>
  )
}

const FORMATS: Readonly<Record<ValueFormat, string>> = {
  json: 'JSON',
  text: 'Text',
  hex: 'Hex',
}
