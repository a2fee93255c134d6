import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { type PickedFile, VALUE_BYTES } from '../components/files/file-limit.ts'
import { Picked, readPicked } from '../components/files/picked-file.tsx'
import { TextField } from '../components/text-field.tsx'
import { formatBytes } from '../components/time/format.ts'
import { fits, formatValue, parseValue, VALUE_FORMATS, type ValueFormat } from './value-format.ts'

/** Content of a value input. */
export interface ValueDraft {
  readonly text: string
  readonly format: ValueFormat
  /** Selected file, which replaces the text. */
  readonly file?: PickedFile
}

export interface ValueFieldProps {
  readonly draft: ValueDraft
  readonly onInput: (draft: ValueDraft) => void
}

const TITLES: Readonly<Record<ValueFormat, string>> = { json: 'JSON', text: 'Text', hex: 'Hex' }
/** Longer texts make typing slow and must be uploaded as a file. */
const MAX_CHARACTERS = 200_000

/** Input for a value. Changing the format preserves the bytes. */
export function ValueField({ draft, onInput }: ValueFieldProps): JSX.Element {
  const { text, format } = draft
  const [isTouched, setTouched] = useState(false)
  const latest = useRef(draft)
  latest.current = draft
  const bytes = tryParse(draft)
  const isLong = text.length > MAX_CHARACTERS
  if (draft.file !== undefined)
    return <Picked file={draft.file} onRemove={() => onInput({ text, format })} />
  return (
    <>
      <fieldset class="choices">
        <legend class="visually-hidden">Format</legend>
        {VALUE_FORMATS.map((each) => (
          <label key={each} class="check">
            <input
              type="radio"
              name="format"
              checked={each === format}
              // The conversion would lose input.
              disabled={each !== format && (bytes instanceof RangeError || !fits(bytes, each))}
              onChange={() =>
                onInput({ format: each, text: formatValue(bytes as Uint8Array, each) })
              }
            />
            {TITLES[each]}
          </label>
        ))}
        <label class="check">
          File
          <input
            type="file"
            onChange={async ({ currentTarget }) => {
              const file = await readPicked(currentTarget.files?.[0], VALUE_BYTES)
              if (file !== undefined) onInput({ ...latest.current, file })
            }}
          />
        </label>
      </fieldset>
      <TextField
        label="Value"
        help={bytes instanceof RangeError ? undefined : formatBytes(bytes.length)}
        error={bytes instanceof RangeError && isTouched ? bytes.message : undefined}
        rows={isLong ? 3 : Math.min(24, Math.max(4, text.split('\n').length + 1))}
        readOnly={isLong}
        value={isLong ? `${text.slice(0, MAX_CHARACTERS / 100)}…` : text}
        onBlur={() => setTouched(true)}
        onInput={(text) => onInput({ format, text })}
      />
      {isLong && (
        <p class="muted">
          Too long to edit; only the beginning is shown. Upload a file to replace the value.
        </p>
      )}
    </>
  )
}

/** Returns the bytes of the value, or the validation error. */
export function tryParse({ text, format, file }: ValueDraft): Uint8Array | RangeError {
  if (file !== undefined) return file.bytes
  try {
    return parseValue(text, format)
  } catch (error) {
    if (error instanceof RangeError) return error
    throw error
  }
}
