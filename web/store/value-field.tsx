import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { Field } from '../components/field.tsx'
import { type PickedFile, VALUE_BYTES } from '../components/files/file-limit.ts'
import { Picked, readPicked } from '../components/files/picked-file.tsx'
import { formatBytes } from '../components/time/format.ts'
import {
  fits,
  formatValue,
  parseTypedValue,
  VALUE_FORMATS,
  type ValueFormat,
} from './value-format.ts'

/** A value that is typed. */
export interface TypedBytes {
  readonly text: string
  readonly format: ValueFormat
  /** What is taken in place of the text. */
  readonly file?: PickedFile
}

export interface ValueFieldProps {
  readonly typed: TypedBytes
  readonly onInput: (typed: TypedBytes) => void
}

const TITLES: Readonly<Record<ValueFormat, string>> = { json: 'JSON', text: 'Text', hex: 'Hex' }
/** More of a text makes typing slow: a file is handed over instead. */
const TYPED_MAX = 200_000

/** A value in one of its formats; another one shows the same bytes. */
export function ValueField({ typed, onInput }: ValueFieldProps): JSX.Element {
  const { text, format } = typed
  const [isTouched, setTouched] = useState(false)
  const latest = useRef(typed)
  latest.current = typed
  const bytes = tryParse(typed)
  const isLong = text.length > TYPED_MAX
  if (typed.file !== undefined)
    return <Picked file={typed.file} onRemove={() => onInput({ text, format })} />
  return (
    <>
      <fieldset class="choices">
        <legend class="visually-hidden">Format</legend>
        {VALUE_FORMATS.map((one) => (
          <label key={one} class="check">
            <input
              type="radio"
              name="format"
              checked={one === format}
              // What is typed would be lost.
              disabled={one !== format && (bytes instanceof RangeError || !fits(bytes, one))}
              onChange={() => onInput({ format: one, text: formatValue(bytes as Uint8Array, one) })}
            />
            {TITLES[one]}
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
      <Field
        label="Value"
        help={bytes instanceof RangeError ? undefined : formatBytes(bytes.length)}
        error={bytes instanceof RangeError && isTouched ? bytes.message : undefined}
      >
        {(control) => (
          <textarea
            {...control}
            rows={isLong ? 3 : Math.min(24, Math.max(4, text.split('\n').length + 1))}
            readOnly={isLong}
            spellcheck={false}
            autocomplete="off"
            value={isLong ? `${text.slice(0, TYPED_MAX / 100)}…` : text}
            onBlur={() => setTouched(true)}
            onInput={({ currentTarget }) => onInput({ format, text: currentTarget.value })}
          />
        )}
      </Field>
      {isLong && (
        <p class="muted">
          Too long to be typed here: its beginning is shown. A file takes its place.
        </p>
      )}
    </>
  )
}

/** The bytes, or why there are none. */
export function tryParse({ text, format, file }: TypedBytes): Uint8Array | RangeError {
  if (file !== undefined) return file.bytes
  try {
    return parseTypedValue(text, format)
  } catch (error) {
    if (error instanceof RangeError) return error
    throw error
  }
}
