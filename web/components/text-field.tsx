import type { JSX } from 'preact'
import { Field, type FieldProps } from './field.tsx'

export interface TextFieldProps extends Omit<FieldProps, 'children'> {
  readonly value: string
  readonly onInput: (text: string) => void
  /** Number of lines. @default a single-line input */
  readonly rows?: number
  readonly type?: 'password' | 'url' | 'number' | 'datetime-local'
  readonly class?: string
  readonly required?: boolean
  readonly readOnly?: boolean
  readonly maxLength?: number
  readonly step?: number
  readonly min?: number
  readonly max?: number
  readonly inputMode?: 'numeric'
  /** @default 'off' */
  readonly autocomplete?: string
  readonly placeholder?: string
  /** Id of a `datalist`. */
  readonly list?: string
  readonly onBlur?: () => void
}

/** Text input with label, help and validation error. */
export function TextField({
  label,
  help,
  error,
  rows,
  onInput,
  ...attributes
}: TextFieldProps): JSX.Element {
  return (
    <Field label={label} help={help} error={error}>
      {(control) => {
        const shared: object = {
          autocomplete: 'off',
          spellcheck: false,
          ...attributes,
          ...control,
        }
        return rows === undefined ? (
          <input {...shared} onInput={({ currentTarget }) => onInput(currentTarget.value)} />
        ) : (
          <textarea
            {...shared}
            rows={rows}
            onInput={({ currentTarget }) => onInput(currentTarget.value)}
          />
        )
      }}
    </Field>
  )
}
