/**
 * The subset of TypeBox in use; all other files import it from here. The build bundles this file with the library
 * (`scripts/bundle-schema.ts`), which loads ten times as fast as the hundreds of modules in the library.
 */
export {
  type Static,
  type StaticDecode,
  type StaticEncode,
  type TCodec,
  type TObject,
  type TProperties,
  type TSchema,
  type TSchemaOptions,
  type TUnknown,
  type TUnsafe,
  Type,
} from 'typebox'
export { Compile } from 'typebox/compile'
export type { TLocalizedValidationError } from 'typebox/error'
export { Default, Errors } from 'typebox/value'
