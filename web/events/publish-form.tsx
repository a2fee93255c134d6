import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { Field } from '../components/field.tsx'
import { VALUE_BYTES } from '../components/files/file-limit.ts'
import { Picked, readPicked } from '../components/files/picked-file.tsx'
import { Problem } from '../components/problem.tsx'
import { showToast } from '../components/toast.tsx'
import { CallError } from '../rpc/call-error.ts'
import { call } from '../rpc/caller.ts'
import { useDraft } from '../state/draft-storage.ts'
import { VALUE_FORMATS, type ValueFormat } from '../store/value-format.ts'
import { type Draft, type DraftErrors, EMPTY, PLACE, toRequest } from './draft.ts'

export interface PublishFormProps {
  /** The topic; undefined: it is typed. */
  readonly topic?: string
  /** An event is there. */
  readonly onPublished: (topic: string) => void
}

interface Published {
  readonly id: string
  readonly sequence: number
}

/** Publishes an event. What was typed stays, so that the next one is quickly made of it. */
export function PublishForm({ topic, onPublished }: PublishFormProps): JSX.Element {
  const [errors, setErrors] = useState<DraftErrors>({})
  const [failure, setFailure] = useState<CallError>()
  const [busy, setBusy] = useState(false)
  const [draft, setDraft] = useDraft(PLACE, EMPTY)
  const typed = topic === undefined ? draft : { ...draft, topic }
  const latest = useRef(draft)
  latest.current = draft
  // A file is there later.
  const type = (change: Partial<Draft>): void => setDraft({ ...latest.current, ...change })

  async function publish(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    const made = toRequest(typed)
    setErrors('errors' in made ? made.errors : {})
    setFailure(undefined)
    if ('errors' in made) return
    setBusy(true)
    try {
      const { body } = await call<Published>('events', 'Stream.Publish', made.request)
      showToast(`Published to ${typed.topic} as ${body.sequence}`)
      onPublished(typed.topic.trim())
    } catch (error) {
      setFailure(CallError.from(error))
    }
    setBusy(false)
  }

  return (
    <form
      class="form record-form"
      aria-label="Publish an event"
      onSubmit={(event) => void publish(event)}
    >
      {topic === undefined && (
        <Field label="Topic" help="It is made if it is not there." error={errors.topic}>
          {(control) => (
            <input
              {...control}
              value={typed.topic}
              autocomplete="off"
              spellcheck={false}
              onInput={({ currentTarget }) => type({ topic: currentTarget.value })}
            />
          )}
        </Field>
      )}
      {typed.file === undefined ? (
        <TypedPayload typed={typed} error={errors.payload} onType={type} />
      ) : (
        <Picked file={typed.file} onRemove={() => type({ file: undefined })} />
      )}
      <Field
        label="Metadata"
        help="name=value, one a line; or an object in JSON."
        error={errors.metadata}
      >
        {(control) => (
          <textarea
            {...control}
            class="mono"
            rows={3}
            spellcheck={false}
            value={typed.metadata}
            onInput={({ currentTarget }) => type({ metadata: currentTarget.value })}
          />
        )}
      </Field>
      <Field label="Happened" help="Empty: now." error={errors.time}>
        {(control) => (
          <input
            {...control}
            type="datetime-local"
            step={1}
            value={typed.time}
            onInput={({ currentTarget }) => type({ time: currentTarget.value })}
          />
        )}
      </Field>
      {failure !== undefined && (
        <Problem error={failure} asked={`publish to ${typed.topic} (events Stream.Publish)`} />
      )}
      <div class="form-actions">
        <button type="submit" class="primary" disabled={busy}>
          Publish
        </button>
      </div>
    </form>
  )
}

interface TypedPayloadProps {
  readonly typed: Draft
  readonly error: string | undefined
  readonly onType: (change: Partial<Draft>) => void
}

function TypedPayload({ typed, error, onType }: TypedPayloadProps): JSX.Element {
  return (
    <>
      <Field label="Payload is">
        {(control) => (
          <select
            {...control}
            value={typed.format}
            onChange={({ currentTarget }) => onType({ format: currentTarget.value as ValueFormat })}
          >
            {VALUE_FORMATS.map((format) => (
              <option key={format} value={format}>
                {FORMATS[format]}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Payload" error={error}>
        {(control) => (
          <textarea
            {...control}
            class="mono"
            rows={8}
            spellcheck={false}
            value={typed.payload}
            onInput={({ currentTarget }) => onType({ payload: currentTarget.value })}
          />
        )}
      </Field>
      <Field label="Payload from a file" help="In place of what is typed: its bytes as they are.">
        {(control) => (
          <input
            {...control}
            type="file"
            onChange={async ({ currentTarget }) => {
              const file = await readPicked(currentTarget.files?.[0], VALUE_BYTES)
              if (file !== undefined) onType({ file })
            }}
          />
        )}
      </Field>
    </>
  )
}

const FORMATS: Readonly<Record<ValueFormat, string>> = {
  json: 'JSON',
  text: 'text',
  hex: 'bytes in hexadecimal',
}
