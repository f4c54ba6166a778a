// Filters over metadata: which documents or memories a search may find.

/** What a field of metadata is compared with. */
export type FilterValue = string | number | boolean | null;

/**
 * Conditions of one field; all of them must hold. A list matches if one of its items does. Numbers are compared with numbers
 * and texts with texts, in the order of their UTF-8 bytes; a value of another type does not match.
 */
export interface FieldCondition {
  readonly eq?: FilterValue;
  /** The opposite of `eq`, so that it also matches where the field is missing. */
  readonly ne?: FilterValue;
  readonly in?: readonly FilterValue[];
  /** The opposite of `in`. */
  readonly nin?: readonly FilterValue[];
  readonly gt?: string | number;
  readonly gte?: string | number;
  readonly lt?: string | number;
  readonly lte?: string | number;
  /** Whether there is such a field; one that is null exists. */
  readonly exists?: boolean;
}

/**
 * A filter: `{ field: value }`, `{ field: condition }`, several fields that must all match, and `and`, `or`, `not` over
 * filters. A field inside objects is named with dots, as in `{ "author.name": "Ada" }`. `{}` matches everything.
 */
export interface MetadataFilter {
  readonly and?: readonly MetadataFilter[];
  readonly or?: readonly MetadataFilter[];
  readonly not?: MetadataFilter;
  readonly [field: string]: FilterValue | FieldCondition | MetadataFilter | readonly MetadataFilter[] | undefined;
}
