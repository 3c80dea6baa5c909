package org.springframework.context.annotation;

import org.springframework.core.env.Environment;

public interface ConditionContext {
    Environment getEnvironment();
}
