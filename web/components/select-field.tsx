import type { JSX } from 'preact'
import { Field } from './field.tsx'

export interface SelectFieldProps<T extends string> {
  readonly label: string
  readonly value: T
  /** Values with their titles, or values used as titles. */
  readonly choices: Readonly<Partial<Record<T, string>>> | readonly T[]
  readonly onInput: (value: T) => void
}

/** Selection with a label. */
export function SelectField<T extends string>({
  label,
  value,
  choices,
  onInput,
}: SelectFieldProps<T>): JSX.Element {
  const entries = Array.isArray(choices)
    ? (choices as readonly T[]).map((choice) => [choice, choice] as const)
    : Object.entries<string | undefined>(choices as Partial<Record<T, string>>)
  return (
    <Field label={label}>
      {(control) => (
        <select
          {...control}
          value={value}
          onChange={({ currentTarget }) => onInput(currentTarget.value as T)}
        >
          {entries.map(([choice, title]) => (
            <option key={choice} value={choice}>
              {title}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}
