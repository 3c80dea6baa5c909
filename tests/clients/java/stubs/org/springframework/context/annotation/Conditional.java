package org.springframework.context.annotation;

public @interface Conditional {
    Class<? extends Condition>[] value();
}
