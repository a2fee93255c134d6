import type { ComponentChildren, JSX } from 'preact'
import { useId } from 'preact/hooks'

/** What a control takes to belong to its field. */
export interface FieldControl {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': true | undefined
}

export interface FieldProps {
  readonly label: string
  readonly help?: ComponentChildren
  /** What is wrong with what was typed. */
  readonly error?: string | undefined
  /** Draws the control: an input, a list, an area. */
  readonly children: (control: FieldControl) => JSX.Element
}

/** A control of a form with its label, what is said about it, and what is wrong with it. */
export function Field({ label, help, error, children }: FieldProps): JSX.Element {
  const id = useId()
  const told = [help !== undefined && `${id}-help`, error !== undefined && `${id}-error`]
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        'aria-describedby': told.filter(Boolean).join(' ') || undefined,
        'aria-invalid': error === undefined ? undefined : true,
      })}
      {help !== undefined && (
        <p class="field-help" id={`${id}-help`}>
          {help}
        </p>
      )}
      {error !== undefined && (
        <p class="field-error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </div>
  )
}
