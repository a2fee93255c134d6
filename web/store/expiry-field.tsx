import type { JSX } from 'preact'
import { Field } from '../components/field.tsx'
import { parseExpiry } from './expiry.ts'

export interface ExpiryFieldProps {
  readonly value: string
  readonly onInput: (value: string) => void
  /** Description of the default. */
  readonly fallback: string
}

/** Input for the expiry of a record. */
export function ExpiryField({ value, onInput, fallback }: ExpiryFieldProps): JSX.Element {
  return (
    <Field
      label="Expires in"
      help={`Such as 90s, 10m, 2h, 1d, or never. Default: ${fallback}.`}
      error={validateExpiry(value)}
    >
      {(control) => (
        <input
          {...control}
          type="text"
          autocomplete="off"
          value={value}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      )}
    </Field>
  )
}

/** Validation error, or undefined. */
export function validateExpiry(text: string): string | undefined {
  try {
    parseExpiry(text)
    return undefined
  } catch (error) {
    return (error as RangeError).message
  }
}
