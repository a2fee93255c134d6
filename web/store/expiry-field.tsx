import type { JSX } from 'preact'
import { TextField } from '../components/text-field.tsx'
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
    <TextField
      label="Expires in"
      help={`Such as 90s, 10m, 2h, 1d, or never. Default: ${fallback}.`}
      error={validateExpiry(value)}
      value={value}
      onInput={onInput}
    />
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
