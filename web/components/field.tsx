import type { ComponentChildren, JSX } from 'preact'
import { useId } from 'preact/hooks'

/** Attributes that link a form control to its label, help and error. */
export interface FieldControl {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': true | undefined
}

export interface FieldProps {
  readonly label: string
  readonly help?: ComponentChildren
  /** Validation error. */
  readonly error?: string | undefined
  /** Renders the form control. */
  readonly children: (control: FieldControl) => JSX.Element
}

/** Form control with label, help and validation error. */
export function Field({ label, help, error, children }: FieldProps): JSX.Element {
  const id = useId()
  const describedBy = [help !== undefined && `${id}-help`, error !== undefined && `${id}-error`]
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        'aria-describedby': describedBy.filter(Boolean).join(' ') || undefined,
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
